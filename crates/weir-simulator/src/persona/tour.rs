//! The tour: one reply that shows everything a page or terminal has to display.

use super::scene::{Scene, Todos, call, says, thinks};
use crate::json::Json;
use crate::script::{Step, ToolCall};
use crate::{array, object};

const FILE: &str = "hello_weir.py";
const FIRST: &str = "def greet(name):\n    print(\"Hello \" + nme)\n\n\ngreet(\"world\")\n";

const THINGS: [(&str, &str); 3] = [
    ("Write a small program", "Writing a small program"),
    ("Correct it", "Correcting it"),
    ("Let two sub-agents look at it", "Letting two sub-agents look at it"),
];

/// All steps of the tour, as far as the host and the tools allow.
pub(super) fn steps(scene: &Scene) -> Vec<Step> {
    let file = scene.path(FILE);
    let write = call("Write", object! { "file_path" => file.as_str(), "content" => FIRST });
    let hello = "Hello! I am the **simulated CLI**: I speak the protocol of Claude Code, but there is no model behind me and nothing here costs anything. The tools are real, though, and work in this folder.\n\nI will write a small program, correct it, ask you something, and let two sub-agents look at the result.";
    let thought = "This is the first message. I will show a little of everything: a to-do list, a file that is written and corrected, a question, two sub-agents at once, and a summary.";
    let list = todo_calls(scene, None);
    let mut steps = if list.is_empty() {
        vec![thinks(thought, says(hello, vec![write]))]
    } else {
        vec![thinks(thought, says(hello, list)), says("First the program.", vec![write])]
    };
    steps.push(says(
        "There is a typo in it: `nme` should be `name`.",
        [
            vec![call("Edit", object! { "file_path" => file.as_str(), "old_string" => "\"Hello \" + nme", "new_string" => "\"Hello \" + name" })],
            todo_calls(scene, Some(1)),
        ]
        .concat(),
    ));
    if scene.can_ask {
        steps.push(says("One question, so that you can see how one looks.", vec![question()]));
    }
    steps.push(says("Now two sub-agents at the same time.", [agents(), todo_calls(scene, Some(2))].concat()));
    let ended = todo_calls(scene, Some(THINGS.len()));
    if !ended.is_empty() {
        steps.push(says("Both have reported.", ended));
    }
    steps.push(summary(scene));
    steps
}

/// Updates the to-do list up to this item; `None` creates it.
pub(super) fn todo_calls(scene: &Scene, done: Option<usize>) -> Vec<ToolCall> {
    match (scene.todos, done) {
        (Todos::None, _) => Vec::new(),
        (Todos::Written, done) => {
            let done = done.unwrap_or(0);
            let items = THINGS.iter().enumerate().map(|(place, (content, doing))| {
                let status = match place.cmp(&done) {
                    std::cmp::Ordering::Less => "completed",
                    std::cmp::Ordering::Equal => "in_progress",
                    std::cmp::Ordering::Greater => "pending",
                };
                object! { "content" => *content, "status" => status, "activeForm" => *doing }
            });
            vec![call("TodoWrite", object! { "todos" => Json::Array(items.collect()) })]
        }
        (Todos::Tasks, None) => THINGS
            .iter()
            .map(|(content, doing)| {
                call(
                    "TaskCreate",
                    object! { "subject" => *content, "description" => *content, "activeForm" => *doing },
                )
            })
            .collect(),
        (Todos::Tasks, Some(done)) => {
            let set = |id: usize, status: &str| {
                call("TaskUpdate", object! { "taskId" => id.to_string(), "status" => status })
            };
            let next = (done < THINGS.len()).then(|| set(done + 1, "in_progress"));
            std::iter::once(set(done, "completed")).chain(next).collect()
        }
    }
}

/// A question with three options.
pub(super) fn question() -> ToolCall {
    let option = |label: &str, about: &str| object! { "label" => label, "description" => about };
    let question = object! {
        "question" => "Which language should the next example be in?",
        "header" => "Language",
        "options" => array![
            option("Rust", "With a type for everything"),
            option("TypeScript", "For the page"),
            option("Python", "Like the first one"),
        ],
        "multiSelect" => false,
    };
    call("AskUserQuestion", object! { "questions" => array![question] })
}

/// Two sub-agents.
pub(super) fn agents() -> Vec<ToolCall> {
    let agent = |description: &str, prompt: &str| {
        call(
            "Task",
            object! { "description" => description, "prompt" => prompt, "subagent_type" => "general-purpose", "run_in_background" => false },
        )
    };
    vec![
        agent("Count the files", "Count the files in this folder and report the number."),
        agent("Look for documents", "Look for documents in this folder and report what there is."),
    ]
}

fn summary(scene: &Scene) -> Step {
    let answer = match &scene.answer {
        Some(answer) => format!("You chose **{answer}** for the next example."),
        None => "There was no question this time: the host cannot answer any.".to_owned(),
    };
    let (outcome, refused) = if scene.refused {
        (
            "not finished",
            "\n\nSomething was refused or did not work on the way, and that is fine: nothing was done without permission.",
        )
    } else {
        ("written and corrected", "")
    };
    let mut text = format!(
        "That was the tour.\n\n| What | How it went |\n|---|---|\n| `{FILE}` | {outcome} |\n| Sub-agents | two, at the same time |\n| Model | `{}` (simulated) |\n\n```python\ndef greet(name):\n    print(\"Hello \" + name)\n```\n\n{answer}{refused}\n\nTry a message with one of the words *question*, *edit*, *agents*, *todo*, *plan*, *background*, *long* or *fail*.",
        scene.model
    );
    if scene.todos == Todos::None {
        text.push_str(" For a to-do list, start me with `CLAUDE_CODE_ENABLE_TODO_TOOLS=1`.");
    }
    says(&text, Vec::new())
}
