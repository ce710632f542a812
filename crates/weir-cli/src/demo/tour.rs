//! The tour without a person: answers every request and summarises what was shown.

use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::mpsc;
use weir_host::{Actor, Decision, Host, SessionId, Watch, WatchEvent, WatchQuery};
use weir_transcript::{Request, RequestKind, RequestState, View};
use weir_wire::{MessageId, QuestionAnswers};

/// The tour takes about twenty seconds at its natural pace.
const PATIENCE: Duration = Duration::from_secs(120);

/// Takes the whole tour and returns its summary.
pub(super) async fn take(
    host: &Host,
    session: &SessionId,
    message: &MessageId,
    mut signals: mpsc::Receiver<()>,
) -> anyhow::Result<String> {
    let mut watch = host.watch(session, WatchQuery::default()).await?;
    let mut view = View::default();
    let follow = async {
        let finished = host.finished(session, message);
        tokio::pin!(finished);
        loop {
            tokio::select! {
                biased;
                seen = see(&mut watch, &mut view) => {
                    seen?;
                    answer(host, session, &view).await?;
                }
                finished = &mut finished => return anyhow::Ok(finished?),
            }
        }
    };
    let finished = tokio::select! {
        finished = tokio::time::timeout(PATIENCE, follow) => {
            finished.context("the tour did not finish in time")??
        }
        _ = signals.recv() => bail!("interrupted"),
    };
    if let Some(error) = finished.error {
        bail!("the tour failed: {}", error.message);
    }
    // The last changes may still be on their way.
    while let Ok(seen) = tokio::time::timeout(Duration::from_millis(200), see(&mut watch, &mut view)).await {
        seen?;
    }
    Ok(summary(&view, &finished.text))
}

/// Applies the next frame to the view.
async fn see(watch: &mut Watch, view: &mut View) -> anyhow::Result<()> {
    let frame = watch.next().await.context("the stream ended")?;
    match frame.event() {
        WatchEvent::Snapshot(snapshot) => view.clone_from(&snapshot.view),
        WatchEvent::Changes(event) => event.changes.iter().for_each(|change| view.apply(change)),
        WatchEvent::Bye(_) => bail!("the stream ended"),
        _ => {}
    }
    Ok(())
}

async fn answer(host: &Host, session: &SessionId, view: &View) -> anyhow::Result<()> {
    for request in view.requests.iter().filter(|request| request.state == RequestState::Open) {
        // A request that was just answered still looks open.
        let _ = host.answer(session, &request.id, decision(request), &Actor::new("demo")).await;
    }
    Ok(())
}

/// The first choice of each question, and yes to everything else.
fn decision(request: &Request) -> Decision {
    let RequestKind::Question { questions, .. } = &request.kind else { return Decision::allow() };
    let answers = questions.iter().fold(QuestionAnswers::new(), |answers, question| {
        let first = question.options.iter().flatten().next();
        answers.choose(&question.question, first.map_or("yes", |option| &option.label))
    });
    Decision::Answers(answers)
}

fn summary(view: &View, text: &str) -> String {
    let todos: usize = view.todos.iter().map(|list| list.items.len()).sum();
    let questions =
        view.requests.iter().filter(|request| matches!(request.kind, RequestKind::Question { .. })).count();
    format!(
        "{text}\n\ndemo: {} tool calls, {} file changes, {} sub-agents, {todos} todos, {questions} question",
        view.tools().count(),
        view.files.len(),
        view.agents.len(),
    )
}
