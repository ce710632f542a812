//! Tracks what a session costs and ends it at a limit.
//!
//! `cargo run --example costs -- 0.50 "first question" "second question"`

#![expect(clippy::print_stdout, reason = "an example prints")]

use weir::{Session, SessionError, SessionOptions};

#[tokio::main]
async fn main() -> Result<(), SessionError> {
    let mut arguments = std::env::args().skip(1);
    let Some(limit) = arguments.next().and_then(|limit| limit.parse::<f64>().ok()) else {
        println!("usage: costs LIMIT-IN-DOLLARS QUESTION...");
        return Ok(());
    };
    let session = Session::new(SessionOptions::new().max_cost_usd(limit));
    for prompt in arguments {
        match session.ask(prompt).await {
            Ok(answer) => {
                // An unknown cost is not zero.
                let cost = answer.cost_usd().map_or("unknown".to_owned(), |usd| format!("${usd:.4}"));
                println!("{}\n({cost})\n", answer.text);
            }
            Err(error @ SessionError::BudgetExhausted { .. }) => {
                println!("{error}");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let view = session.view().await?;
    for model in &view.cost.models {
        println!("{}: {} tokens in, {} out", model.model, model.input_tokens, model.output_tokens);
    }
    session.stop().await;
    Ok(())
}
