//! Steps of the machine that share one write to disk.
//!
//! Pure. Records of a later step may be stored before the actions of an earlier step are done. That is safe, because a
//! crash may come between any two actions anyway, and no record claims that an action was done.

use std::collections::BTreeMap;

use crate::machine::{Action, Change, Kind};

/// Steps that share one write to disk.
#[derive(Debug, Default)]
pub struct Batch {
    changes: BTreeMap<(Kind, String), Change>,
    actions: Vec<Action>,
    steps: usize,
}

impl Batch {
    /// Adds the actions of a step. If a record changes twice, the later change wins.
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

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The actions of all steps: all changes first, then the rest in order.
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
    fn changes_come_first_and_the_last_one_wins() {
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
    fn steps_without_changes_write_nothing() {
        let mut batch = Batch::default();
        batch.add(vec![Action::Note("a".into())]);
        assert_eq!(batch.into_actions(), [Action::Note("a".into())]);
    }
}
