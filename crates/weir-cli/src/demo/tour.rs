//! The tour without a person: what is asked is answered, and at the end it is told what there was to see.

use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::mpsc;
use weir_host::{Actor, ConversationId, Decision, Host, Watch, WatchEvent, WatchQuery};
use weir_transcript::{Request, RequestKind, RequestState, View};
use weir_wire::{MessageId, QuestionAnswers};

/// The tour takes some twenty seconds at its natural pace.
const PATIENCE: Duration = Duration::from_secs(120);

/// Takes the tour to its end, and tells what there was.
pub(super) async fn take(
    host: &Host,
    session: &ConversationId,
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
            finished.context("the tour does not come to its end")??
        }
        _ = signals.recv() => bail!("interrupted"),
    };
    if let Some(error) = finished.error {
        bail!("the tour failed: {}", error.message);
    }
    // What came with the end may still wait.
    while let Ok(seen) = tokio::time::timeout(Duration::from_millis(200), see(&mut watch, &mut view)).await {
        seen?;
    }
    Ok(summary(&view, &finished.text))
}

/// Takes the next step of the view.
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

async fn answer(host: &Host, session: &ConversationId, view: &View) -> anyhow::Result<()> {
    for request in view.requests.iter().filter(|request| request.state == RequestState::Open) {
        // One that was answered a moment ago still looks open.
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
        "{text}\n\ndemo: {} tool calls, {} changes of files, {} sub-agents, {todos} things to do, {questions} question",
        view.tools().count(),
        view.files.len(),
        view.agents.len(),
    )
}
