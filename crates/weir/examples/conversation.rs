//! A session of several turns in one process.
//!
//! `cargo run --example conversation -- "first question" "second question"`

#![expect(clippy::print_stdout, reason = "an example prints")]

use weir::{Session, SessionOptions};

#[tokio::main]
async fn main() -> Result<(), weir::SessionError> {
    let session = Session::new(SessionOptions::new());
    for prompt in std::env::args().skip(1) {
        let answer = session.ask(prompt).await?;
        println!("{}\n", answer.text);
    }
    session.stop().await;
    Ok(())
}
