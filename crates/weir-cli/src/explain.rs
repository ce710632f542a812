//! Explains session errors to the user, with advice.

use std::time::Duration;

use weir_base::error::with_causes;
use weir_session::{Phase, SessionError, StartError};

use crate::screen::seconds;

/// Describes a session error for the user of the command line.
pub(crate) fn explain(error: &SessionError, timeout: Option<Duration>) -> String {
    match error {
        SessionError::TimedOut { phase: Phase::Background, .. } => {
            "the answer is complete, but background tasks were still running at the timeout; \
             --no-wait does not wait for them"
                .to_owned()
        }
        SessionError::TimedOut { after, .. } if timeout == Some(*after) => {
            format!("stopped after {}; raise --timeout to allow more time", seconds(*after))
        }
        SessionError::NotStarted(start) => match &**start {
            StartError::Locked(_) => {
                format!("{error}. `weir sessions --live` shows who has it; --fork ID continues with a copy")
            }
            _ => with_causes(error),
        },
        _ => with_causes(error),
    }
}
