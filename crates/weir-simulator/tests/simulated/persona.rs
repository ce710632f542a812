//! The demonstration that is played without a script.

use crate::support::Start;
use weir_simulator::json::Json;
use weir_simulator::object;

fn at_once(flags: &[&str]) -> Start {
    let answer = |request: &Json| {
        let input = request.get("input")?.clone();
        let input = match request.str_of("tool_name") {
            Some("AskUserQuestion") => {
                input.with("answers", object! { "Which language should the next example be in?" => "Rust" })
            }
            _ => input,
        };
        Some(object! { "behavior" => "allow", "updatedInput" => input })
    };
    Start::asking(flags).env("SIMULATED_CLAUDE_PACE", "0").answer(answer)
}

#[test]
fn the_tour_shows_a_little_of_everything() {
    let cli = at_once(&["--include-partial-messages"]).env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").start();
    cli.say("hello there").result(1);
    assert!(cli.file("hello_weir.py").contains("\"Hello \" + name"));
    let done = cli.end();
    let texts = done.texts().join("\n");
    for part in ["simulated CLI", "|---|---|", "```python", "You chose **Rust**"] {
        assert!(texts.contains(part), "{part}");
    }
    assert!(!texts.contains("refused"));
    let calls: Vec<_> = done
        .of("assistant", None)
        .iter()
        .filter_map(|line| line.at(&["message", "content"])?.items()[0].str_of("name"))
        .collect();
    for tool in ["TaskCreate", "TaskUpdate", "Write", "Edit", "AskUserQuestion", "Task", "Bash"] {
        assert!(calls.contains(&tool), "{tool}");
    }
    assert_eq!(done.of("system", Some("task_notification")).len(), 2);
    assert!(done.lines.iter().any(|line| line.to_string().contains("thinking_delta")));
    assert!(!done.results()[0].is_true("is_error"));
}

#[test]
fn words_in_a_message_choose_what_is_shown() {
    let cli = at_once(&[]).start();
    for (number, (prompt, part)) in [
        ("please edit something", "written and finished"),
        ("ask me a question", "You chose **Rust**"),
        ("use agents", "Both have reported"),
        ("give me a plan", "That was the plan"),
        ("something long", "20. A weir is a low dam"),
        ("help", "I react to single words"),
        ("todo", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"),
        ("good morning", "You wrote 2 words"),
        ("now fail", "529"),
    ]
    .into_iter()
    .enumerate()
    {
        let result = cli.say(prompt).result(number + 1);
        assert!(result.str_of("result").unwrap().contains(part), "{prompt}: {result}");
        assert_eq!(result.is_true("is_error"), prompt == "now fail");
    }
    cli.say("background").result(10);
    assert_eq!(cli.result(11).at(&["origin", "kind"]).and_then(Json::as_str), Some("task-notification"));
}

#[test]
fn it_reports_a_refusal_and_that_it_cannot_ask() {
    let cli = Start::new(&[]).env("SIMULATED_CLAUDE_PACE", "0").start();
    let result = cli.say("hello").result(1);
    let text = result.str_of("result").unwrap().to_owned();
    assert!(text.contains("There was no question") && text.contains("refused"), "{text}");
    assert!(text.contains("| not finished |") && !text.contains("written and corrected"), "{text}");
}

#[test]
fn it_talks_at_a_natural_pace_by_default() {
    let cli = Start::new(&["--include-partial-messages"]).start();
    cli.say("something long").wait_for_delta();
    cli.interrupt();
    let result = cli.result(1);
    assert_eq!(result.str_of("terminal_reason"), Some("aborted_streaming"), "there was time to interrupt it");
}
