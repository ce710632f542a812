//! Many sessions, each under its own key, with a spare process ready for the next one.
//!
//! `cargo run --example pool -- alice="What is a weir?" bob="What is a sluice?" alice="How high is one?"`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use weir::{Pool, PoolError, PoolOptions, SessionOptions};

#[tokio::main]
async fn main() -> Result<(), PoolError> {
    let pool = Pool::new(PoolOptions::default());
    pool.prewarm(SessionOptions::new);
    for argument in std::env::args().skip(1) {
        let (key, prompt) = argument.split_once('=').unwrap_or(("default", &argument));
        let conversation = pool.session(key, SessionOptions::new());
        let answer = conversation.ask(prompt).await?;
        println!("{key}: {}\n", answer.text);
    }
    pool.shut_down(Duration::from_secs(30)).await;
    Ok(())
}
