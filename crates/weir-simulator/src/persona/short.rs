//! Short replies to single words in a message.

use std::time::Duration;

use super::scene::{Scene, Todos, call, says, thinks};
use super::tour;
use crate::object;
use crate::script::{ApiError, Step};

/// Explains what it is and what it reacts to.
pub(super) fn help() -> Vec<Step> {
    vec![says(
        "I am the simulated CLI. There is no model behind me, so I do not understand much: I react to single words.\n\n- **tour**: a little of everything\n- **edit**: writes a file and changes it\n- **question**: asks you something\n- **agents**: two sub-agents at once\n- **background**: a command that keeps running while I talk\n- **todo**: a to-do list\n- **plan**: a plan for you to approve\n- **long**: a long answer, good for the interrupt button\n- **fail**: an API error",
        Vec::new(),
    )]
}

/// Replies to anything else.
pub(super) fn small_talk(scene: &Scene) -> Vec<Step> {
    let words = match scene.prompt.split_whitespace().count() {
        1 => "1 word".to_owned(),
        count => format!("{count} words"),
    };
    vec![thinks(
        "Nothing in this message is a word that I react to.",
        says(
            &format!(
                "You wrote {words}. I am the simulated CLI and understand nothing, but I heard you. Say *help* to see what I react to."
            ),
            Vec::new(),
        ),
    )]
}

/// An API error that is not recoverable.
pub(super) fn fail() -> Vec<Step> {
    let error = ApiError {
        status: 529,
        kind: "overloaded_error".to_owned(),
        message: "Overloaded".to_owned(),
        headers: Vec::new(),
        times: None,
    };
    vec![Step { error: Some(error), ..Step::default() }]
}

/// Asks a question, and repeats the answer.
pub(super) fn question(scene: &Scene) -> Vec<Step> {
    if !scene.can_ask {
        return vec![says(
            "I would ask you something, but the host cannot answer: start me with `--permission-prompt-tool stdio`.",
            Vec::new(),
        )];
    }
    let answer = scene.answer.as_deref().unwrap_or("nothing");
    vec![
        says("I have a question.", vec![tour::question()]),
        says(&format!("You chose **{answer}**. Thank you."), Vec::new()),
    ]
}

/// Starts two sub-agents.
pub(super) fn agents() -> Vec<Step> {
    vec![
        thinks(
            "Two things can be looked at independently, so two sub-agents do it.",
            says("I let two sub-agents look around.", tour::agents()),
        ),
        says("Both have reported. This folder has been looked at twice.", Vec::new()),
    ]
}

/// Starts a command that keeps running after the reply.
pub(super) fn background() -> Vec<Step> {
    let input = object! { "command" => "sleep 3; echo done", "description" => "wait three seconds", "run_in_background" => true };
    vec![
        says("I start something slow and continue.", vec![call("Bash", input)]),
        says("It runs in the background. When it ends, I will speak up without being asked.", Vec::new()),
    ]
}

/// Says that a background task has ended.
pub(super) fn task_ended() -> Vec<Step> {
    vec![says("The task in the background has ended.", Vec::new())]
}

/// Works through a to-do list.
pub(super) fn todos(scene: &Scene) -> Vec<Step> {
    if scene.todos == Todos::None {
        return vec![says(
            "This version has no to-do list unless it is started with `CLAUDE_CODE_ENABLE_TODO_TOOLS=1`.",
            Vec::new(),
        )];
    }
    vec![
        says("Three things to do.", tour::todo_calls(scene, None)),
        says("The first one is done.", tour::todo_calls(scene, Some(1))),
        says("The second one too.", tour::todo_calls(scene, Some(2))),
        says("The third one is left for you.", Vec::new()),
    ]
}

/// Presents a plan for approval.
pub(super) fn plan(scene: &Scene) -> Vec<Step> {
    if !scene.can_ask {
        return vec![says(
            "A plan needs someone to approve it: start me with `--permission-prompt-tool stdio`.",
            Vec::new(),
        )];
    }
    let content = "# Plan\n\n1. Look at the folder\n2. Write a note\n3. Say that it is done\n";
    vec![
        says(
            "I write a plan first.",
            vec![call("Write", object! { "file_path" => "{{PLAN}}", "content" => content })],
        ),
        says("", vec![call("ExitPlanMode", object! {})]),
        says("That was the plan. I will leave it at that.", Vec::new()),
    ]
}

/// Writes a file and changes it.
pub(super) fn edit(scene: &Scene) -> Vec<Step> {
    let file = scene.path("NOTES-simulated.md");
    let content = "# Notes\n\n- written by the simulated CLI\n- not finished\n";
    let change = object! { "file_path" => file.as_str(), "old_string" => "- not finished", "new_string" => "- finished" };
    let end = if scene.refused {
        "You refused, so I left the file as it was."
    } else {
        "The note is written and finished."
    };
    vec![
        says(
            "I write a note.",
            vec![call("Write", object! { "file_path" => file.as_str(), "content" => content })],
        ),
        says("And I finish it.", vec![call("Edit", change)]),
        says(end, Vec::new()),
    ]
}

/// A long reply, for interrupting.
pub(super) fn long() -> Vec<Step> {
    let verse = "A weir is a low dam. It does not stop the river; it holds it just enough to measure it. ";
    let mut text = String::from("This will take a while. Interrupt me whenever you like.\n\n");
    for number in 1..=20 {
        text.push_str(&format!("{number}. {verse}\n"));
    }
    vec![Step { text: Some(text), word_delay: Duration::from_millis(60), ..Step::default() }]
}

/// Plays a sub-agent without its own script.
pub(super) fn sub_agent(scene: &Scene) -> Vec<Step> {
    let (command, about, report) = if scene.prompt.contains("document") {
        ("ls | grep md | head -20", "list documents", "I listed the documents in this folder.")
    } else {
        ("ls | wc -l", "count files", "I counted the files in this folder.")
    };
    vec![
        says("I look around.", vec![call("Bash", object! { "command" => command, "description" => about })]),
        says(report, Vec::new()),
    ]
}
