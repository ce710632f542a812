//! Plays many sessions at once in a pool with too few processes for all.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use weir_session::{Pool, PoolError, PoolOptions, TurnEnd};
use weir_testkit::Random;

use crate::place::Place;
use crate::plan::{Plan, Say};
use crate::tally::Tally;

/// Longer than anything takes, even on a busy machine: anything slower hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// The outcome of a message: its key, its token, and how it ended.
type Ended = (String, String, Result<Arc<TurnEnd>, PoolError>);

/// Plays the sessions of a seed in a pool and checks the results.
pub(crate) async fn play(program: &Path, place: &Arc<Place>, seed: u64) -> Result<Tally, String> {
    let mut random = Random::new(seed ^ 0x0070_6F6F_6C00);
    let mut pool_options = PoolOptions::default();
    pool_options.max_processes = 2 + usize::try_from(random.below(2)).unwrap_or_default();
    pool_options.max_turns = Some(1 + random.below(3));
    pool_options.spares = usize::from(random.chance(50));
    pool_options.max_awaiting = usize::from(random.chance(50));
    let max = pool_options.max_processes + pool_options.max_awaiting;
    let pool = Pool::new(pool_options);
    let (recipe, program) = (Arc::clone(place), program.to_owned());
    let make = move || recipe.options(&program, "2.1.325", None);
    if random.chance(50) {
        pool.prewarm(make.clone());
    }
    let mut tasks: JoinSet<Vec<Ended>> = JoinSet::new();
    let conversations = 3 + random.below(3);
    for number in 0..conversations {
        let key = format!("flow::{number}");
        // Two callers may share a session.
        for caller in 0..1 + random.below(2) {
            let says: Vec<Say> = Plan::of(random.number()).says().cloned().collect();
            let (pool, make, key) = (pool.clone(), make.clone(), key.clone());
            tasks.spawn(async move {
                let mut ended = Vec::new();
                for say in says {
                    let token = say.token.clone();
                    let conversation = pool.session(key.clone(), make());
                    ended.push((key.clone(), token, conversation.ask(say.prompt).await));
                }
                let _which = caller;
                ended
            });
        }
    }
    let mut tally = Tally { conversations, ..Tally::default() };
    let mut ids: HashMap<String, HashSet<String>> = HashMap::new();
    let collected = async {
        while let Some(ended) = tasks.join_next().await {
            let ended = ended.map_err(|error| format!("a caller failed: {error}"))?;
            for (key, token, answer) in ended {
                judge(&mut tally, &mut ids, &key, &token, answer)?;
            }
            let live = pool.list().iter().filter(|(_, has_process)| *has_process).count();
            if live > max {
                return Err(format!("{live} processes, but only {max} are allowed"));
            }
        }
        Ok(())
    };
    tokio::time::timeout(DEADLINE, collected).await.map_err(|_| "a pool takes forever".to_owned())??;
    let patience = Duration::from_millis(random.below(300));
    let over = tokio::time::timeout(DEADLINE, pool.shut_down(patience)).await;
    over.map_err(|_| "shutting down a pool takes forever".to_owned())?;
    let living = place.living();
    if !living.is_empty() {
        return Err(format!("processes are left after the pool: {living:?}"));
    }
    place.check_free()?;
    let mut seen = HashSet::new();
    for (key, ids) in &ids {
        for id in ids {
            if !seen.insert(id) {
                return Err(format!("{key} got session {id}, which belongs to another key"));
            }
        }
    }
    Ok(tally)
}

/// Counts a reply, and checks that it is the right one.
fn judge(
    tally: &mut Tally,
    ids: &mut HashMap<String, HashSet<String>>,
    key: &str,
    token: &str,
    answer: Result<Arc<TurnEnd>, PoolError>,
) -> Result<(), String> {
    tally.messages += 1;
    let end = match answer {
        Ok(end) => end,
        Err(error) => {
            tally.pool_error(&error);
            return Ok(());
        }
    };
    if let Some(id) = &end.session_id {
        ids.entry(key.to_owned()).or_default().insert(id.to_string());
    }
    if end.turn.state.is_cut_short() {
        tally.failed += 1;
        return Ok(());
    }
    tally.answered += 1;
    // Callers that share a session may get one reply.
    if end.text.contains(token) || end.turn.messages.len() > 1 && end.text.contains("token-") {
        return Ok(());
    }
    Err(format!("{key}: {token} was answered with {:?}", end.text))
}
