//! Decides what the CLI may do: reading is allowed, everything else is decided here, and questions get the
//! first choice.
//!
//! `cargo run --example permissions -- "Make a file called hello.txt"`

#![expect(clippy::print_stdout, reason = "an example prints")]

use weir::{Ask, Decision, QuestionAnswers, RequestKind, Session, SessionOptions};

async fn decide(ask: Ask) -> Decision {
    match ask.kind() {
        Some(RequestKind::Permission(ask)) if ask.tool_name == "Bash" => {
            println!(
                "? Bash {}",
                ask.input.get("command").and_then(serde_json::Value::as_str).unwrap_or_default()
            );
            Decision::deny("Commands are not allowed. Use the other tools.")
        }
        Some(RequestKind::Permission(ask)) => {
            println!("? {} {}", ask.tool_name, ask.input);
            Decision::allow()
        }
        Some(RequestKind::Question { questions, .. }) => {
            let mut answers = QuestionAnswers::new();
            for question in questions {
                let options = question.options.as_deref().unwrap_or_default();
                let first = options.first().map_or("whatever you like", |option| option.label.as_str());
                println!("? {} {first}", question.question);
                answers = answers.choose(question.question.clone(), first);
            }
            Decision::Answers(answers)
        }
        _ => Decision::deny("not supported here"),
    }
}

#[tokio::main]
async fn main() -> Result<(), weir::SessionError> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Make a file called hello.txt".into());
    let session = Session::new(SessionOptions::new().handler(decide));
    let answer = session.ask(prompt).await?;
    println!("{}", answer.text);
    for denial in answer.turn.result.iter().flat_map(|result| &result.denials) {
        println!("denied: {}", denial.tool_name);
    }
    session.stop().await;
    Ok(())
}
