//! Steps of the machine that are kept together: one write to the disk for all that happened at once.
//!
//! Pure. A crash may come between any two actions, so it does no harm that records of a later step are kept before an
//! earlier step is acted on: what is kept never says that an action was done.

use std::collections::BTreeMap;

use crate::machine::{Action, Change, Kind};

/// Steps that are kept together.
#[derive(Debug, Default)]
pub struct Batch {
    changes: BTreeMap<(Kind, String), Change>,
    actions: Vec<Action>,
    steps: usize,
}

impl Batch {
    /// Adds what is to be done for a step. Of two changes of a record the later one holds.
    pub fn add(&mut self, actions: Vec<Action>) {
        self.steps += 1;
        for action in actions {
            match action {
                Action::Keep(changes) => {
                    let named = |change: Change| ((change.kind, change.key.clone()), change);
                    self.changes.extend(changes.into_iter().map(named));
                }
                other => self.actions.push(other),
            }
        }
    }

    /// How many steps it has.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// What is to be done: first everything is kept, then the rest is done in its order.
    pub fn into_actions(self) -> Vec<Action> {
        let changes: Vec<Change> = self.changes.into_values().collect();
        let keep = (!changes.is_empty()).then_some(Action::Keep(changes));
        keep.into_iter().chain(self.actions).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;
    use crate::machine::{Action, Change, Kind};

    fn keep(key: &str, value: Option<u32>) -> Action {
        Action::Keep(vec![Change { kind: Kind::Reply, key: key.into(), value: value.map(Into::into) }])
    }

    #[test]
    fn everything_is_kept_first_and_the_last_word_holds() {
        let mut batch = Batch::default();
        batch.add(vec![keep("1", Some(1)), Action::Note("a".into())]);
        batch.add(vec![Action::Note("b".into())]);
        batch.add(vec![keep("1", None), Action::Note("c".into())]);
        assert_eq!(batch.steps(), 3);
        let expected =
            [keep("1", None), Action::Note("a".into()), Action::Note("b".into()), Action::Note("c".into())];
        assert_eq!(batch.into_actions(), expected);
    }

    #[test]
    fn what_changes_nothing_writes_nothing() {
        let mut batch = Batch::default();
        batch.add(vec![Action::Note("a".into())]);
        assert_eq!(batch.into_actions(), [Action::Note("a".into())]);
    }
}
