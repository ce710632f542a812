//! Plays a plan with a session.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use weir_session::{SendMode, Sent, Session, SessionError};
use weir_wire::MessageId;

use crate::check;
use crate::place::Place;
use crate::plan::{End, Plan, Say, Step};
use crate::recorder::Recorder;
use crate::tally::Tally;

/// Longer than anything takes, even on a busy machine: anything slower hangs.
const DEADLINE: Duration = Duration::from_secs(90);

/// Plays a plan and checks the results.
pub(crate) async fn play(program: &Path, place: &Place, plan: &Plan) -> Result<Tally, String> {
    let recorder = Recorder::default();
    let mut options = place.options(program, plan.version, plan.habit);
    options.keep_process = plan.keep_process;
    if plan.is_undisturbed() {
        // A busy machine is slow, and no plan is silent on purpose.
        options.limits.model = Some(DEADLINE);
        options.limits.tool = Some(DEADLINE);
        options.limits.turn = None;
    }
    let fold = options.fold.clone();
    let session = Session::new(place.watched(options, &recorder, plan.terminal));
    let mut player = Player { session, sent: Vec::new(), tokens: HashMap::new(), tally: Tally::default() };
    player.tally.conversations = 1;
    for step in &plan.steps {
        within("a step", player.step(step)).await?.map_err(|why| format!("{step:?}: {why}"))?;
    }
    match plan.end {
        End::Calm => {
            player.answers(plan.is_undisturbed()).await?;
            // Including those that are never waited for.
            let _it_is_over = within("settling", player.session.settled()).await?;
            let _it_has_none = within("closing", player.session.close()).await?;
            let view = within("the view", player.session.view()).await?.map_err(|error| error.to_string())?;
            check::view(&view, plan)?;
            check::replay(&view, &recorder, fold)?;
            player.count_processes().await?;
            within("stopping", player.session.stop()).await?;
        }
        End::Stop => {
            player.count_processes().await?;
            within("stopping", player.session.stop()).await?;
            player.answers(false).await?;
        }
        End::Drop => {
            let Player { session, sent, tally, .. } = player;
            drop((session, sent));
            place.wait_until_deserted().await?;
            return Ok(tally);
        }
    }
    // Once the end is announced, nothing may be left.
    let living = place.living();
    if !living.is_empty() {
        return Err(format!("processes are left after the end: {living:?}"));
    }
    place.check_free()?;
    check::log(place, &recorder)?;
    Ok(player.tally)
}

async fn within<F: Future>(what: &str, future: F) -> Result<F::Output, String> {
    tokio::time::timeout(DEADLINE, future).await.map_err(|_| format!("{what} takes forever"))
}

struct Player {
    session: Session,
    sent: Vec<Sent>,
    tokens: HashMap<MessageId, String>,
    tally: Tally,
}

impl Player {
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Say(say) => self.say(say).await?,
            // Whether anything can be interrupted, and whether the CLI replies, is random.
            Step::Interrupt => drop(self.session.interrupt().await),
            Step::Cancel => {
                if let Some(sent) = self.sent.last() {
                    // It may have been answered already.
                    let _ = self.session.cancel(&sent.id).await;
                }
            }
            Step::Kill => self.kill().await?,
            Step::Close => drop(self.session.close().await),
            Step::Look => self.look().await?,
            Step::Pause(time) => tokio::time::sleep(*time).await,
        }
        Ok(())
    }

    async fn say(&mut self, say: &Say) -> Result<(), String> {
        let mode = if say.steer { SendMode::Steer } else { SendMode::Queue };
        let sent = match mode {
            SendMode::Queue => self.session.send(say.prompt.as_str()).await,
            SendMode::Steer => self.session.steer(say.prompt.as_str()).await,
        };
        let mut sent = sent.map_err(|error| format!("a message was not accepted: {error}"))?;
        self.tally.messages += 1;
        self.tokens.insert(sent.id.clone(), say.token.clone());
        if say.wait {
            let answer = sent.answer().await;
            // The reply is checked later with the others.
            drop(answer);
        }
        if say.forget {
            drop(sent);
            self.tally.refused += 1;
        } else {
            self.sent.push(sent);
        }
        Ok(())
    }

    async fn kill(&self) -> Result<(), String> {
        let facts = self.session.facts().await.map_err(|error| error.to_string())?;
        let pid = facts.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _it_has_just_ended = kill_process(pid, Signal::KILL);
        }
        Ok(())
    }

    async fn look(&self) -> Result<(), String> {
        let mut updates = self.session.follow().await.map_err(|error| error.to_string())?;
        updates.next().await.ok_or("no updates to follow")?;
        self.session.view().await.map_err(|error| error.to_string())?;
        match self.session.context_usage().await {
            Err(SessionError::Stopped) => Err("the session is over".to_owned()),
            // Older CLIs do not know it, and there may be no process.
            _ => Ok(()),
        }
    }

    /// Waits for the end of every message and checks it.
    async fn answers(&mut self, all_succeed: bool) -> Result<(), String> {
        for sent in &mut self.sent {
            let answer = within("an answer", sent.answer()).await?;
            match &answer {
                Ok(end) if end.turn.state.is_cut_short() => self.tally.failed += 1,
                Ok(_) => self.tally.answered += 1,
                Err(error) => self.tally.error(error),
            }
            match &answer {
                Ok(end) => check::answer(&sent.id, end, &self.tokens)?,
                Err(error) if all_succeed => return Err(format!("nothing went wrong, but: {error}")),
                Err(_) => {}
            }
            if all_succeed && answer.is_ok_and(|end| end.turn.state.is_cut_short()) {
                return Err("nothing went wrong, but a turn failed".to_owned());
            }
        }
        Ok(())
    }

    async fn count_processes(&mut self) -> Result<(), String> {
        let facts = within("the facts", self.session.facts()).await?.map_err(|error| error.to_string())?;
        self.tally.processes += facts.processes;
        Ok(())
    }
}
