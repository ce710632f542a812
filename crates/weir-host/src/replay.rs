//! What a viewer gets before what is live.

use crate::frame::Frame;

/// What a viewer gets before what is live.
#[derive(Debug)]
pub(crate) struct Opening;

impl Opening {
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        None
    }
}
