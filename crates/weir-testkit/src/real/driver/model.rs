//! The driver's input and output types.

use std::ffi::OsString;
use std::path::PathBuf;

use weir_transcript::HostEvent;

use crate::json::{Json, parse};

/// How to start a CLI.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
}

/// A line from the CLI.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// As received, without the line feed.
    pub bytes: Vec<u8>,
    /// As JSON; null if it is not JSON.
    pub json: Json,
}

impl Received {
    /// A line as received, without the line feed.
    pub fn new(bytes: Vec<u8>) -> Self {
        let json = std::str::from_utf8(&bytes).ok().and_then(|text| parse(text).ok()).unwrap_or(Json::Null);
        Self { bytes, json }
    }

    /// Whether it has this type and, if one is given, this subtype.
    pub fn is(&self, kind: &str, subtype: Option<&str>) -> bool {
        self.json.str_of("type") == Some(kind)
            && subtype.is_none_or(|subtype| self.json.str_of("subtype") == Some(subtype))
    }
}

/// What happened, in order: lines from the CLI and events on our side.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A line from the CLI.
    Line(Vec<u8>),
    /// An event on our side.
    Host(HostEvent),
}

/// A response to a request from the CLI.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The `response` of the `control_response`.
    pub response: Json,
    /// The event for the transcript.
    pub event: Option<HostEvent>,
}

/// Answers requests from the CLI. It gets the whole line; returning `None` leaves the request open.
pub type Responder = Box<dyn FnMut(&Json) -> Option<Response> + Send>;
