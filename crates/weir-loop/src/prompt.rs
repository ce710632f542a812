//! Builds the agent's prompt within a size limit. Pure.

use weir_base::text;

use crate::config::{Config, PromptLimits};
use crate::outcome::Failure;
use crate::tasks::Task;

/// The rules for every planner session. They follow its system prompt, which is the CLI's own or the configured one.
pub const PLANNER_RULES: &str = "\
You plan work that others do later: one fresh session for each task, unattended, which knows the repository and the \
text of its task and nothing else.
- Look at the repository before you plan: what is there already, how it is built and tested, which conventions it has.
- Change nothing: no file, no commit, no branch, no worktree, nothing that keeps running.
- Make each task small enough to be finished and checked at once, and leave the repository working after each of them.
- Say in each task what its session has to know: files, names, decisions, and what is not part of it.
- Give conditions that a program can check. Something that only a person can judge is not a condition.
- Order tasks so that each needs only earlier ones, and name what it needs.
- Decide what can be decided, and write the decision down. Ask only what neither the document nor the repository can answer.";

/// The rules for every session that reviews.
pub const REVIEW_RULES: &str = "\
You review the work of another session on one task. You can read the working tree, and change nothing.
- Judge whether the change does what the task asks for, completely, and nothing that it does not ask for.
- What the other session says about its work is not evidence. Look at the files.
- Look for tests that were weakened, special cases that only satisfy a check, and work that was only pretended.
- End with a line `VERDICT: approve` or `VERDICT: reject`. Before a reject, say what has to change.";

/// The prompt of a review. The diff is cut last.
pub fn review(task: &Task, diff: &str, instructions: &str, config: &Config) -> String {
    let parts = Parts {
        task,
        attempt: 1,
        failure: None,
        begins_anew: false,
        progress: "",
        broken: &[],
        answers: &[],
    };
    let mut prompt = format!("Review the work on this task.\n\n{}", head(&parts));
    if !instructions.trim().is_empty() {
        prompt.push_str(&format!("{}\n\n", instructions.trim()));
    }
    // A fence that the diff cannot close.
    let room = config.prompt.max_bytes.saturating_sub(prompt.len() + 64);
    let diff = cut_end(diff, room).replace("~~~~~~", "~~~");
    prompt.push_str(&format!("The change:\n\n~~~~~~diff\n{diff}\n~~~~~~\n"));
    cut_end(&prompt, config.prompt.max_bytes)
}

/// The rules for every coder session. They follow its system prompt.
pub const RULES: &str = "\
You work unattended on one task of a list, in a workspace that a harness owns.
- Do this task and nothing else. Do not ask whether to continue.
- Do not edit the task list, the harness's configuration, its folder, or files that are named as protected.
- Do not commit, and do not switch branches: the harness commits what you leave in the working tree.
- Do not put commands into the background: they end with this session. Run them in the foreground.
- When you are done, the harness runs its own checks. Saying that they pass has no effect.
- If you learned something that the next session should know, end your answer with a heading `## Learned` and a few \
short points.";

/// The parts of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The task.
    pub task: &'a Task,
    /// Number of the attempt.
    pub attempt: u32,
    /// Why the last attempt failed.
    pub failure: Option<&'a Failure>,
    /// Whether the work of that attempt is not there any more.
    pub begins_anew: bool,
    /// What earlier sessions learned.
    pub progress: &'a str,
    /// Gates that already fail, by name.
    pub broken: &'a [String],
    /// Answers that a person gave to this task's questions.
    pub answers: &'a [(String, String)],
}

/// Builds the prompt. The task itself comes first and is cut last.
pub fn pack(parts: &Parts<'_>, config: &Config) -> String {
    let limits = &config.prompt;
    let mut prompt = head(parts);
    prompt.push_str(&checks(parts, config));
    let room = limits.max_bytes.saturating_sub(prompt.len());
    let failure = parts
        .failure
        .map(|failure| last_attempt(parts, failure, room.min(limits.failure_bytes)))
        .unwrap_or_default();
    let room = room.saturating_sub(failure.len());
    let learned = learned(parts.progress, room, limits);
    prompt.push_str(&failure);
    prompt.push_str(&learned);
    cut_end(&prompt, limits.max_bytes)
}

fn head(parts: &Parts<'_>) -> String {
    let task = parts.task;
    let mut text = format!("# Task: {}\n\n", task.title);
    if !task.context.is_empty() {
        text.push_str(&format!("It is part of: {}\n\n", task.context.join(" / ")));
    }
    if !task.details.is_empty() {
        text.push_str(&format!("{}\n\n", task.details));
    }
    if !task.acceptance.is_empty() {
        text.push_str("It is done when:\n");
        for condition in &task.acceptance {
            text.push_str(&format!("- {condition}\n"));
        }
        text.push('\n');
    }
    if !parts.answers.is_empty() {
        text.push_str("A person has answered questions about it:\n");
        for (question, answer) in parts.answers {
            text.push_str(&format!("- {question} {answer}\n"));
        }
        text.push('\n');
    }
    text
}

fn checks(parts: &Parts<'_>, config: &Config) -> String {
    if config.gates.is_empty() {
        return String::new();
    }
    let mut text = "The harness will run these checks afterwards, and all of them must pass:\n".to_owned();
    for gate in &config.gates {
        let broken = if parts.broken.contains(&gate.name) { " (fails at the moment)" } else { "" };
        text.push_str(&format!("- {}: `{}`{broken}\n", gate.name, gate.command.join(" ")));
    }
    text.push('\n');
    text
}

fn last_attempt(parts: &Parts<'_>, failure: &Failure, room: usize) -> String {
    let place = if parts.begins_anew {
        "The working tree has what was merged meanwhile, and not the work of that attempt."
    } else {
        "Its work is still in the working tree."
    };
    let head = format!(
        "# The attempt before this one (this is number {}) did not succeed\n\n{}\n\n{place}\n\n",
        parts.attempt, failure.reason
    );
    if failure.output.trim().is_empty() {
        return head;
    }
    let output = cut_start(failure.output.trim_end(), room.saturating_sub(head.len() + 16));
    // A fence that the output cannot close.
    format!("{head}~~~~~~text\n{}\n~~~~~~\n\n", output.replace("~~~~~~", "~~~"))
}

fn learned(progress: &str, room: usize, limits: &PromptLimits) -> String {
    let head = "# What earlier sessions learned\n\n";
    let room = room.min(limits.progress_bytes).saturating_sub(head.len() + 1);
    // Less than this is not worth including.
    if progress.trim().is_empty() || room < 64 {
        return String::new();
    }
    format!("{head}{}\n", cut_start(progress.trim(), room))
}

/// The end of a text, from the start of a line, with a mark where text is missing.
pub fn cut_start(text: &str, room: usize) -> String {
    const MARK: &str = "[…]\n";
    if text.len() <= room {
        return text.to_owned();
    }
    let rest = text::tail(text, room.saturating_sub(MARK.len()));
    // Starts at a full line, unless the line is very long.
    let rest = match rest.find('\n') {
        Some(end) if end + 1 < rest.len() && end < 400 => rest.get(end + 1..).unwrap_or_default(),
        _ => rest,
    };
    format!("{MARK}{rest}")
}

fn cut_end(text: &str, room: usize) -> String {
    const MARK: &str = "\n[…]\n";
    if text.len() <= room {
        return text.to_owned();
    }
    format!("{}{MARK}", text::head(text, room.saturating_sub(MARK.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::tasks::TaskId;

    fn task(details: &str) -> Task {
        Task {
            id: TaskId::new("t"),
            title: "Add a flag".into(),
            context: vec!["Parser".into()],
            details: details.into(),
            acceptance: vec!["`app --json` prints JSON".into()],
            needs: Vec::new(),
            touch: Vec::new(),
            options: crate::tasks::TaskOptions::default(),
            done: false,
        }
    }

    fn packed(task: &Task, failure: Option<&Failure>, progress: &str, config: &Config) -> String {
        let broken = ["test".to_owned()];
        pack(
            &Parts { task, attempt: 2, failure, begins_anew: false, progress, broken: &broken, answers: &[] },
            config,
        )
    }

    #[test]
    fn everything_is_in_it_in_order() {
        let config =
            crate::config::parse("[[loop.gates]]\nname = \"test\"\ncommand = [\"cargo\", \"test\"]").unwrap();
        let failure = Failure::new(Outcome::Failed, "gates failed: test", "assertion failed");
        let prompt = packed(&task("At length."), Some(&failure), "use the parser of x", &config);
        let places: Vec<Option<usize>> = [
            "# Task: Add a flag",
            "Parser",
            "At length.",
            "prints JSON",
            "`cargo test` (fails",
            "assertion failed",
            "use the parser",
        ]
        .iter()
        .map(|part| prompt.find(part))
        .collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}\n{prompt}");
    }

    #[test]
    fn a_prompt_keeps_to_its_size_and_keeps_the_end_of_the_output() {
        let prompt = PromptLimits { max_bytes: 4096, failure_bytes: 1500, progress_bytes: 1000 };
        let config = Config { prompt, ..Config::default() };
        let failure = Failure::new(
            Outcome::Failed,
            "gates failed",
            format!("{}the last line", "noise ä\n".repeat(3000)),
        );
        let progress = format!("{}newest", "old pattern\n".repeat(500));
        let prompt = packed(&task("x"), Some(&failure), &progress, &config);
        assert!(prompt.len() <= 4096, "{}", prompt.len());
        assert!(prompt.contains("the last line") && prompt.contains("newest") && prompt.contains("[…]"));
        let prompt = packed(&task(&"ö".repeat(5000)), Some(&failure), &progress, &config);
        assert!(prompt.len() <= 4096 && prompt.starts_with("# Task: Add a flag"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_cut(text in "\\PC{0,300}", room in 0usize..200) {
            let cut = cut_start(&text, room);
            proptest::prop_assert!(cut.len() <= room.max(4) + 4 || cut == text);
            let cut = cut_end(&text, room);
            proptest::prop_assert!(cut.len() <= room.max(7));
        }
    }
}
