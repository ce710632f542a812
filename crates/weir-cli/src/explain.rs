//! What went wrong, in words that say what to do.

use std::time::Duration;

use weir_session::{Phase, SessionError, StartError};

use crate::screen::seconds;

/// An error of a session, for the user of the command line.
pub(crate) fn explain(error: &SessionError, timeout: Option<Duration>) -> String {
    match error {
        SessionError::TimedOut { phase: Phase::Background, .. } => {
            "the answer has come, but tasks in the background still ran when the time was over; \
             --no-wait does not wait for them"
                .to_owned()
        }
        SessionError::TimedOut { after, .. } if timeout == Some(*after) => {
            format!(
                "it took longer than {} and was stopped; raise --timeout to give it more",
                seconds(*after)
            )
        }
        SessionError::NotStarted(start) => match &**start {
            StartError::Locked(_) => {
                format!("{error}. `weir sessions --live` shows who has it; --fork ID goes on with a copy")
            }
            _ => with_causes(error),
        },
        _ => with_causes(error),
    }
}

/// The message and those of its causes that it does not repeat.
fn with_causes(error: &SessionError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
