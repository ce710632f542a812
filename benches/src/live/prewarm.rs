//! How soon the first content of a new session arrives: from a cold start of the real CLI, and from a spare.
//!
//! The model is the scripted API on loopback, which answers immediately: only the CLI and our code are measured.

mod hosted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;
use weir_process::Environment;
use weir_session::{Observer, Pool, PoolOptions, Session, SessionOptions};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;
use weir_wire::Line;

use super::runtime;
use crate::report::print_line;
use crate::workload::Size;

/// Longer than anything takes.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often to check whether the spare is ready.
const POLL: Duration = Duration::from_millis(10);
/// What the model says.
const PROMPT: &str = r#"@@[{"text":"Hello there."}]"#;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let Some(cli) = RealCli::installed().into_iter().max_by_key(|cli| cli.version) else {
        return print_line(
            "\nprewarming: NOT MEASURED, no real CLI is installed. Run scripts/setup-real-cli.sh, then this again.",
        );
    };
    let rounds = if size == Size::Full { 9 } else { 2 };
    print_line(&format!(
        "\nfirst content of a new conversation, real CLI {}, median of {rounds}\n\
         | how | cold | prewarmed | sooner |\n|---|---:|---:|---:|",
        cli.version
    ))?;
    let (mut cold, mut warm) = runtime()?.block_on(measure(&cli, rounds))?;
    row("library, known folder", &mut cold, &mut warm)?;
    let (mut cold, mut warm) = runtime()?.block_on(hosted::measure(&cli, rounds))?;
    row("server, any folder", &mut cold, &mut warm)
}

fn row(how: &str, cold: &mut [Duration], warm: &mut [Duration]) -> anyhow::Result<()> {
    let (cold, warm) = (median(cold), median(warm));
    print_line(&format!("| {how} | {cold:.0} ms | {warm:.0} ms | {:.1} x |", cold / warm))
}

fn median(samples: &mut [Duration]) -> f64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).map_or(f64::NAN, |middle| middle.as_secs_f64() * 1e3)
}

/// Records when the first piece of text arrives.
struct FirstContent(mpsc::UnboundedSender<Instant>);

impl Observer for FirstContent {
    fn line(&mut self, line: &Line<'_>) {
        let piece = b"\"text_delta\"";
        if line.raw.windows(piece.len()).any(|part| part == piece) {
            // Only the first one is waited for.
            let _ = self.0.send(Instant::now());
        }
    }
}

/// Alternating, so that both see the same machine.
async fn measure(cli: &RealCli, rounds: usize) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        cold.push(from_cold(cli).await?);
        warm.push(from_spare(cli).await?);
    }
    Ok((cold, warm))
}

fn options(cli: &RealCli, place: &Place, api: &ScriptedApi) -> SessionOptions {
    let mut environment = Environment::empty();
    for (name, value) in place.environment(&api.url()) {
        environment = environment.set(name, value);
    }
    SessionOptions::new().program(&cli.program).cwd(place.directory()).environment(environment)
}

async fn from_cold(cli: &RealCli) -> anyhow::Result<Duration> {
    let (place, api) = (Place::new()?, ScriptedApi::start()?);
    let (sender, mut seen) = mpsc::unbounded_channel();
    let started = Instant::now();
    let session = Session::new(options(cli, &place, &api).observer(FirstContent(sender)));
    let mut sent = session.send(PROMPT).await?;
    let first = first(&mut seen).await?;
    sent.answer().await?;
    session.stop().await;
    Ok(first - started)
}

async fn from_spare(cli: &RealCli) -> anyhow::Result<Duration> {
    let (place, api) = (Arc::new(Place::new()?), Arc::new(ScriptedApi::start()?));
    let mut pool_options = PoolOptions::default();
    pool_options.max_processes = 1;
    let pool = Pool::new(pool_options);
    let recipe = {
        let (cli, place, api) = (cli.clone(), Arc::clone(&place), Arc::clone(&api));
        move || options(&cli, &place, &api)
    };
    pool.prewarm(recipe.clone());
    let ready = async {
        while pool.warm_spares() == 0 {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(DEADLINE, ready).await.context("the spare CLI does not start")?;
    let (sender, mut seen) = mpsc::unbounded_channel();
    let started = Instant::now();
    let conversation = pool.session("measured", recipe().observer(FirstContent(sender)));
    let mut sent = conversation.send(PROMPT).await?;
    let first = first(&mut seen).await?;
    sent.answer().await?;
    pool.shut_down(Duration::ZERO).await;
    Ok(first - started)
}

async fn first(seen: &mut mpsc::UnboundedReceiver<Instant>) -> anyhow::Result<Instant> {
    let first = tokio::time::timeout(DEADLINE, seen.recv()).await.context("nothing arrived")?;
    first.context("the session ended before anything arrived")
}
