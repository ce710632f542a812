//! From a PRD to a task list: the planner's prompt, and how its answer is read. Pure.

use crate::tasks::{Source, TaskList};

/// The planner's prompt, which the PRD follows.
pub const PLAN_PROMPT: &str = "\
Plan the work that the document below asks for. Look at the repository first, as far as you need to.

Answer with a Markdown checklist and nothing else:
- one `- [ ] ` line for each task that a fresh session can finish on its own, in the order in which they should be done;
- below it, indented, what the session has to know, and lines `- accept: ` with conditions that a program can check;
- a line `- needs: ` with the titles of tasks that must be done before, if any;
- groups may be nested, their leaves are the tasks.

Do not change any file. If something essential is missing from the document, answer with your questions instead, and \
with no checklist.";

/// What the planner answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAnswer {
    /// A list.
    List {
        /// Its text.
        text: String,
        /// Number of tasks.
        tasks: usize,
    },
    /// Questions, or anything else that is not a list.
    Questions(String),
}

/// Finds the list in an answer: the answer itself, or a code block in it.
pub fn read_plan(answer: &str) -> PlanAnswer {
    let blocks = weir_transcript::code_blocks(answer).into_iter();
    let blocks = blocks.filter_map(|block| answer.get(block.start..block.end).map(str::to_owned));
    let candidates = blocks.chain([answer.to_owned()]);
    let lists = candidates.filter_map(|text| {
        let list = TaskList::parse(Source::Markdown(text.clone())).ok()?;
        Some((list.tasks.len(), text))
    });
    match lists.max_by_key(|(tasks, _)| *tasks) {
        Some((tasks, text)) => PlanAnswer::List { text: format!("{}\n", text.trim()), tasks },
        None => PlanAnswer::Questions(answer.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_found_with_and_without_a_fence() {
        let bare = "Here it is.\n\n- [ ] First\n  - accept: x\n- [ ] Second\n  - needs: First\n";
        assert!(matches!(read_plan(bare), PlanAnswer::List { tasks: 2, .. }));
        let fenced = format!("Sure:\n```markdown\n{}```\nGood luck.", &bare[13..]);
        let PlanAnswer::List { text, tasks } = read_plan(&fenced) else { panic!("no list") };
        assert_eq!((text.starts_with("- [ ] First"), text.contains("Good luck"), tasks), (true, false, 2));
        assert_eq!(read_plan("Which database?"), PlanAnswer::Questions("Which database?".into()));
    }
}
