//! Asks one question and prints the answer.
//!
//! `cargo run --example one_answer -- "What is a weir?"`

#![expect(clippy::print_stdout, reason = "an example prints")]

#[tokio::main]
async fn main() -> Result<(), weir::SessionError> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "What is a weir?".into());
    let answer = weir::query(prompt).await?;
    println!("{}", answer.text);
    Ok(())
}
