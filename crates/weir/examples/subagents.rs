//! Watches sub-agents while they work.
//!
//! `cargo run --example subagents -- "Let two agents look at this folder"`

#![expect(clippy::print_stdout, reason = "an example prints")]

use weir::{Change, Session, SessionOptions, Update};

#[tokio::main]
async fn main() -> Result<(), weir::SessionError> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Let two agents look at this folder".into());
    let session = Session::new(SessionOptions::new());
    let mut updates = session.follow().await?;
    let watching = tokio::spawn(async move {
        while let Some(update) = updates.next().await {
            let Update::Changes(changes) = update else { continue };
            for change in changes.iter() {
                if let Change::Agent(agent) = change {
                    println!("{:?}: {}", agent.state, agent.description);
                }
            }
        }
    });
    let answer = session.ask(prompt).await?;
    // Agents in the background may still be running.
    session.settled().await?;
    println!("{}", answer.text);
    session.stop().await;
    let _ = watching.await;
    Ok(())
}
