//! Watching a session: a greeting, then what is there, then what comes, without a gap and without repetition.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use weir_base::time::now_ms;
use weir_store::{Cursor, Resume};

use crate::live_session::ViewerGuard;
use crate::viewer::{Bye, Inlet, Taken};
use crate::watch_event::{Frame, HeartbeatEvent, HelloEvent, ResumeKind, WatchEvent};

/// In which form a session is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// A snapshot of the view, then its changes.
    #[default]
    View,
    /// The `agent` vocabulary.
    Agent,
    /// The `classic` vocabulary.
    Classic,
    /// The CLI's lines.
    Raw,
}

impl Format {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Agent => "agent",
            Self::Classic => "classic",
            Self::Raw => "raw",
        }
    }

    /// The format with this name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::View, Self::Agent, Self::Classic, Self::Raw].into_iter().find(|form| form.as_str() == word)
    }
}

/// How to watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchQuery {
    /// In which form.
    pub format: Format,
    /// Where the viewer was. No cursor is not the same as a cursor at zero.
    pub cursor: Option<Cursor>,
    /// How often to say that nothing happened.
    pub heartbeat: Option<Duration>,
}

/// A session that is being watched. Dropping it ends that.
///
/// The first frame is `hello`. With [`Format::View`] a `snapshot` follows, and another one may come at any time in
/// place of changes. With the other forms what the log has after the cursor comes next; without a cursor that is
/// all of it. The last frame is `bye`.
#[derive(Debug)]
pub struct Watch {
    pub(crate) inlet: Inlet,
    /// The greeting, and what the log had. Comes before what waits in the inlet.
    pub(crate) opening: crate::replay::Opening,
    pub(crate) heartbeat: Option<Heartbeat>,
    pub(crate) is_over: bool,
    pub(crate) _guard: ViewerGuard,
}

impl Watch {
    /// The next frame; nothing after `bye`. Cancel safe.
    pub async fn next(&mut self) -> Option<Frame> {
        if self.is_over {
            return None;
        }
        match self.opening.next().await {
            Ok(Some(frame)) => return Some(frame),
            Ok(None) => {}
            Err(_) => {
                self.is_over = true;
                return Some(bye(Bye::Failed));
            }
        }
        self.next_live().await
    }

    /// The next frame that is there already; nothing if something has to happen first. Cancel safe.
    pub async fn next_ready(&mut self) -> Option<Frame> {
        if self.is_over {
            return None;
        }
        match self.opening.next().await {
            Ok(Some(frame)) => return Some(frame),
            Ok(None) => {}
            Err(_) => return None,
        }
        match self.inlet.try_next()? {
            Taken::Frame(frame) => Some(frame),
            Taken::End(_) => None,
        }
    }

    async fn next_live(&mut self) -> Option<Frame> {
        let taken = match &mut self.heartbeat {
            None => self.inlet.next().await,
            Some(heartbeat) => tokio::select! {
                biased;
                taken = self.inlet.next() => {
                    heartbeat.since = Instant::now();
                    taken
                }
                frame = heartbeat.next() => return Some(frame),
            },
        };
        Some(match taken {
            Taken::Frame(frame) => frame,
            Taken::End(reason) => {
                self.is_over = true;
                bye(reason)
            }
        })
    }
}

/// Says from time to time that nothing has happened.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    every: Duration,
    /// When something was told last.
    since: Instant,
    /// Rings at most this late. Not set again with every frame: that would cost more than the frame.
    alarm: Pin<Box<Sleep>>,
}

impl Heartbeat {
    /// None if there are to be no heartbeats.
    pub(crate) fn new(every: Option<Duration>) -> Option<Self> {
        let every = every.filter(|every| !every.is_zero())?;
        Some(Self { every, since: Instant::now(), alarm: Box::pin(tokio::time::sleep(every)) })
    }

    /// The next heartbeat. Cancel safe.
    async fn next(&mut self) -> Frame {
        loop {
            self.alarm.as_mut().await;
            let now = Instant::now();
            let is_due = self.since + self.every <= now;
            if is_due {
                self.since = now;
            }
            self.alarm.as_mut().reset(self.since + self.every);
            if is_due {
                return heartbeat();
            }
        }
    }
}

/// The greeting. `resume` tells whether the viewer's cursor was of use.
pub(crate) fn hello(resume: Resume, epoch: &str, seq: u64, heartbeat: Option<Duration>) -> Frame {
    let resume = match resume {
        Resume::Fresh => ResumeKind::Fresh,
        Resume::After(_) => ResumeKind::Ok,
        Resume::Gap => ResumeKind::Gap,
    };
    let heartbeat_ms = heartbeat.map(|every| u64::try_from(every.as_millis()).unwrap_or(u64::MAX));
    let hello = HelloEvent { resume, epoch: epoch.to_owned(), seq, heartbeat_ms };
    Frame::new(None, WatchEvent::Hello(hello), 0)
}

fn heartbeat() -> Frame {
    Frame::new(None, WatchEvent::Heartbeat(HeartbeatEvent { at: now_ms() }), 0)
}

fn bye(reason: Bye) -> Frame {
    Frame::new(None, WatchEvent::Bye(reason), 0)
}
