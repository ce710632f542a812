//! Plays many plans, a few at a time, until the time is up or something is wrong.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use weir_testkit::Random;

use crate::leaks::{Held, grows, held};
use crate::place::Place;
use crate::plan::Plan;
use crate::settings::Settings;
use crate::tally::Tally;
use crate::{play, pooled};

/// How often progress is reported.
const REPORT: Duration = Duration::from_secs(10);
/// Plans per job between two checks of held resources.
const ROUND: u64 = 4;
/// One plan in this many is a pool.
const POOLS: u64 = 8;
/// How long the last process may take to be reaped.
const REAPED: Duration = Duration::from_secs(5);
/// One plan in this many is a disk that fills and empties.
const DISKS: u64 = 16;

/// A violated invariant.
#[derive(Debug)]
pub struct Failure {
    /// The seed that failed; `None` if it was all of them together.
    pub seed: Option<u64>,
    /// What was wrong.
    pub why: String,
    /// The folder with its logs.
    pub folder: Option<PathBuf>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "FAILED: {}", self.why)?;
        if let Some(seed) = self.seed {
            writeln!(f, "plan: {:#?}", Plan::of(seed))?;
            writeln!(f, "to repeat it: SOAK_ONLY={seed} make soak")?;
        }
        if let Some(folder) = &self.folder {
            writeln!(f, "its logs are in {}", folder.display())?;
        }
        Ok(())
    }
}

/// The resources held once the last process is reaped. One whose owner has gone is reaped a moment after its end.
async fn held_at_rest() -> Held {
    let deadline = Instant::now() + REAPED;
    loop {
        let now = held();
        if now.children.is_empty() || Instant::now() >= deadline {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Plays until the time is up. `report` receives progress messages.
///
/// # Errors
/// The first violation found.
pub async fn soak(settings: &Settings, report: impl Fn(&str)) -> Result<Tally, Box<Failure>> {
    let started = Instant::now();
    let (mut tally, mut samples) = (Tally::default(), Vec::new());
    let mut last_report = Instant::now();
    let mut seeds = Random::new(settings.seed);
    report(&format!("seed {}, {} s, {} at a time", settings.seed, settings.time.as_secs(), settings.jobs));
    while started.elapsed() < settings.time {
        round(settings, &mut seeds, &mut tally).await?;
        let now = held_at_rest().await;
        if !now.children.is_empty() {
            let why = format!("children are left while nothing runs: {}", now.children.join(", "));
            return Err(Box::new(Failure { seed: None, why, folder: None }));
        }
        if last_report.elapsed() >= REPORT {
            last_report = Instant::now();
            report(&line(started.elapsed(), &tally, &now));
        }
        samples.push(now);
    }
    if let Some(now) = samples.last() {
        report(&line(started.elapsed(), &tally, now));
    }
    match grows(&samples) {
        Some(why) => Err(Box::new(Failure { seed: None, why, folder: None })),
        None => Ok(tally),
    }
}

fn line(elapsed: Duration, tally: &Tally, held: &Held) -> String {
    let (memory, open) = (held.memory >> 20, held.descriptors);
    format!("{:4} s  {tally}; {memory} MiB, {open} descriptors", elapsed.as_secs())
}

/// Plays a number of plans, all of which have ended when this returns.
async fn round(settings: &Settings, seeds: &mut Random, tally: &mut Tally) -> Result<(), Box<Failure>> {
    let mut running = JoinSet::new();
    for number in 0..settings.jobs * ROUND {
        if number >= settings.jobs {
            ended(running.join_next().await, tally)?;
        }
        // A seed with few digits is easier to type.
        let seed = settings.only.unwrap_or_else(|| seeds.number() >> 24);
        running.spawn(one(settings.program.clone(), seed));
    }
    while let Some(end) = running.join_next().await {
        ended(Some(end), tally)?;
    }
    Ok(())
}

type End = Result<Result<Tally, Box<Failure>>, tokio::task::JoinError>;

fn ended(end: Option<End>, tally: &mut Tally) -> Result<(), Box<Failure>> {
    match end {
        None => Ok(()),
        Some(Ok(Ok(more))) => {
            tally.add(&more);
            Ok(())
        }
        Some(Ok(Err(failure))) => Err(failure),
        Some(Err(error)) => {
            let why = format!("a task failed: {error}");
            Err(Box::new(Failure { seed: None, why, folder: None }))
        }
    }
}

/// Plays the scenario of one seed.
async fn one(program: PathBuf, seed: u64) -> Result<Tally, Box<Failure>> {
    let place = match Place::new() {
        Ok(place) => Arc::new(place),
        Err(error) => {
            let why = format!("cannot create a folder in the temporary folder: {error}");
            return Err(Box::new(Failure { seed: None, why, folder: None }));
        }
    };
    #[cfg(target_os = "linux")]
    if seed % DISKS == 1 {
        let folder = place.path("disk");
        let played = tokio::task::spawn_blocking(move || {
            std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
            crate::disk::play(&program, &folder, seed)
        });
        let played = played.await.unwrap_or_else(|error| Err(error.to_string()));
        return played.map_err(|why| Box::new(Failure { seed: Some(seed), why, folder: None }));
    }
    let played = if seed.is_multiple_of(POOLS) {
        pooled::play(&program, &place, seed).await
    } else {
        play::play(&program, &place, &Plan::of(seed)).await
    };
    played.map_err(|why| {
        let folder = Arc::into_inner(place).map(Place::keep);
        Box::new(Failure { seed: Some(seed), why, folder })
    })
}
