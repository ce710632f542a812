//! One spare: a task that holds a started process until a session takes it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use uuid::Uuid;
use weir_process::Process;
use weir_wire::{Body, CliSessionId, Decoder, HostRequest, Message, Outgoing, RequestId};

use super::kind::{Kind, Wanted};

/// How long a spare may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a spare may take to become a session's process. A cold start takes about this long.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(3);

/// A started process that waits for a session. It ends when this is dropped.
pub(crate) struct Parked {
    key: u64,
    id: CliSessionId,
    is_ready: Arc<AtomicBool>,
    /// Asks the task for the process. Its end tells the task to end.
    give: oneshot::Sender<oneshot::Sender<Greeted>>,
    task: JoinHandle<()>,
    max_wait: Duration,
}

/// A process that has answered the first request.
pub(crate) struct Greeted {
    pub(crate) process: Process,
    /// Its answer to that.
    pub(crate) introduction: Value,
    /// Lines that it has written since a session has claimed it: they are the session's.
    pub(crate) said: Vec<Vec<u8>>,
}

/// What became of an attempt to use a spare.
pub(crate) enum Claimed {
    /// It is the session's process.
    Process(Box<Greeted>),
    /// It refused and still waits.
    Refused(Parked),
    /// It is of no use.
    Lost,
}

impl Parked {
    pub(super) fn start(kind: &Kind, folder: PathBuf, max_wait: Duration) -> Self {
        let id = Uuid::new_v4().to_string();
        let (launch, greeting) = (kind.launch(&id, folder), kind.greeting());
        Self::with(kind.key(), CliSessionId::new(id), max_wait, false, async move {
            let mut process = launch.spawn().await.ok()?;
            let mut said = Vec::new();
            let greeted = timeout(START_TIMEOUT, answered(&mut process, vec![greeting], &mut said)).await;
            let introduction = greeted.ok()?.ok()?;
            // It loads what a first answer needs. If it refuses, that is done later.
            let warm_up = answered(&mut process, vec![HostRequest::GetContextUsage], &mut said);
            match timeout(START_TIMEOUT, warm_up).await {
                Ok(Ok(_) | Err(Failed::Refused { .. })) => {
                    Some(Greeted { process, introduction, said: Vec::new() })
                }
                Ok(Err(Failed::Ended)) | Err(_) => None,
            }
        })
    }

    fn with(
        key: u64,
        id: CliSessionId,
        max_wait: Duration,
        is_ready: bool,
        started: impl Future<Output = Option<Greeted>> + Send + 'static,
    ) -> Self {
        let is_ready = Arc::new(AtomicBool::new(is_ready));
        let (give, wanted) = oneshot::channel();
        let task = tokio::spawn(wait(started, Arc::clone(&is_ready), wanted, max_wait));
        Self { key, id, is_ready, give, task, max_wait }
    }

    pub(super) fn is_of(&self, kind: &Kind) -> bool {
        self.key == kind.key()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.was_ready() && !self.is_over()
    }

    /// Whether it has ever been ready.
    pub(super) fn was_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// The session id that it was started with.
    pub(crate) fn id(&self) -> &CliSessionId {
        &self.id
    }

    /// Makes it the process of a session.
    pub(crate) async fn claim(self, wanted: &Wanted) -> Claimed {
        let Self { key, id, give, max_wait, .. } = self;
        let (reply, process) = oneshot::channel();
        if give.send(reply).is_err() {
            return Claimed::Lost;
        }
        let Ok(mut greeted) = process.await else { return Claimed::Lost };
        let mut said = Vec::new();
        let claiming = answered(&mut greeted.process, wanted.requests(), &mut said);
        match timeout(CLAIM_TIMEOUT, claiming).await {
            Ok(Ok(_)) => Claimed::Process(Box::new(Greeted { said, ..greeted })),
            // It refuses before it changes anything.
            Ok(Err(Failed::Refused { first: true })) => {
                Claimed::Refused(Self::with(key, id, max_wait, true, std::future::ready(Some(greeted))))
            }
            Ok(Err(_)) | Err(_) => Claimed::Lost,
        }
    }
}

/// Holds the process until it is wanted, ends, or has waited too long.
async fn wait(
    started: impl Future<Output = Option<Greeted>>,
    is_ready: Arc<AtomicBool>,
    mut wanted: oneshot::Receiver<oneshot::Sender<Greeted>>,
    max_wait: Duration,
) {
    let started = tokio::select! {
        started = started => started,
        // Nobody is left who could want it. A started process ends with its future.
        _ = &mut wanted => return,
    };
    let Some(mut greeted) = started else { return };
    is_ready.store(true, Ordering::Release);
    let deadline = Instant::now() + max_wait;
    loop {
        tokio::select! {
            reply = &mut wanted => {
                if let Ok(reply) = reply {
                    // The session may have been dropped meanwhile, and the process ends.
                    let _ = reply.send(greeted);
                }
                return;
            }
            filled = greeted.process.output.fill() => {
                if !filled.unwrap_or(false) {
                    return;
                }
                // What it says now concerns no session.
                while greeted.process.output.next_frame().is_some() {}
            }
            () = tokio::time::sleep_until(deadline) => return,
        }
    }
}

/// Why requests were not carried out.
enum Failed {
    /// The process said no: to the first request, or to a later one.
    Refused { first: bool },
    /// It no longer reads or writes.
    Ended,
}

/// Sends these requests and waits until all are carried out. Returns the answer to the first one; `said` gets what else the
/// process writes meanwhile.
async fn answered(
    process: &mut Process,
    requests: Vec<HostRequest>,
    said: &mut Vec<Vec<u8>>,
) -> Result<Value, Failed> {
    let ids: Vec<RequestId> =
        (0..requests.len()).map(|number| format!("spare-{number}").as_str().into()).collect();
    for (id, request) in ids.iter().zip(requests) {
        let line = Outgoing::Request { id: id.clone(), request }.to_line();
        if !process.input.queue(line.trim_end().as_bytes()) {
            return Err(Failed::Ended);
        }
    }
    process.input.flush().await.map_err(|_| Failed::Ended)?;
    let (mut decoder, mut open, mut first) = (Decoder::new(), ids.clone(), Value::Null);
    while !open.is_empty() {
        while let Some(frame) = process.output.next_frame() {
            let line = decoder.decode_frame(frame);
            let response = match &line.body {
                Body::Known(Message::ControlResponse(message)) => Some(&message.response),
                _ => None,
            };
            let place = response.and_then(|response| open.iter().position(|id| response.request_id == *id));
            let Some((response, place)) = response.zip(place) else {
                said.push(line.raw.to_vec());
                continue;
            };
            let id = open.swap_remove(place);
            if !response.is_success() {
                return Err(Failed::Refused { first: ids.first() == Some(&id) });
            }
            if ids.first() == Some(&id) {
                first = response.response.map(|answer| answer.to_value()).unwrap_or_default();
            }
            if open.is_empty() {
                // The rest is the session's.
                return Ok(first);
            }
        }
        if !process.output.fill().await.unwrap_or(false) {
            return Err(Failed::Ended);
        }
    }
    Ok(first)
}
