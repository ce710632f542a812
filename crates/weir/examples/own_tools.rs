//! Gives the model tools that are functions of this program.
//!
//! `cargo run --features mcp --example own_tools -- "What is 17.5 plus 24.5? Use the calculator."`

#![expect(clippy::print_stdout, reason = "an example prints")]

use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use weir::{Session, SessionOptions};

#[derive(Clone)]
struct Calculator;

#[derive(Deserialize, JsonSchema)]
struct Pair {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

#[tool_router(server_handler)]
impl Calculator {
    #[tool(description = "Adds two numbers.")]
    async fn add(&self, Parameters(Pair { a, b }): Parameters<Pair>) -> String {
        println!("(our own add: {a} + {b})");
        (a + b).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), weir::SessionError> {
    let question = "What is 17.5 plus 24.5? Use the calculator.";
    let prompt = std::env::args().nth(1).unwrap_or_else(|| question.into());
    let options = SessionOptions::new().mcp_server("calc", || Calculator).allowed_tools(["mcp__calc__add"]);
    let session = Session::new(options);
    let answer = session.ask(prompt).await?;
    println!("{}", answer.text);
    session.stop().await;
    Ok(())
}
