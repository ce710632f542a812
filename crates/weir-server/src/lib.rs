//! Sessions over HTTP: the API, server-sent events, tokens, the embedded page.
//!
//! [`app`] turns an [`App`] into a service, which tests call without a network; [`Listening`] serves it. Every request
//! passes the same checks before a handler sees it: that it is meant for this server and not sent by a foreign page,
//! who sends it, whether they may, and how often. Handlers only translate between HTTP and the host.
//!
//! This crate starts no processes, and no request can choose which program runs or with which flags.

mod api;
mod audit;
mod auth;
mod docs;
mod editors;
mod extract;
mod guard;
mod loops;
mod metrics;
mod openai;
mod page;
mod policy;
mod problem;
mod serve;
mod settings;
mod state;
mod streams;
mod telemetry;
mod tools;

pub use api::app;
pub use api::types::{
    LoopCounts, LoopGate, LoopGateState, LoopLimit, LoopQuestion, LoopQuestionPart, LoopReportForm,
    LoopStatus, LoopTask, LoopTaskList, LoopTaskState, LoopView,
};
pub use audit::{Audit, AuditEntry};
pub use auth::{
    Buckets, NewToken, Principal, Rate, Role, Secret, SecretHash, Standing, Token, TokenFileError, TokenInfo,
    Tokens,
};
pub use docs::openapi;
pub use guard::{Places, Refusal, RequestOrigin, judge};
pub use loops::{LoopOrder, LoopPort, Loops, Ordered};
pub use openai::Histories;
pub use page::is_built as page_is_built;
pub use problem::Problem;
pub use serve::{
    Certificate, Listening, LoadedCertificate, PublicUrl, ReadyFile, ServeError, ServeOptions, Server,
    Stopping, TlsError, link, listening_is_remote, token_name_problem, write_ready_file,
};
pub use settings::{
    ConnectionLimits, OpenAiSettings, RequestLimits, SLASH_COMMANDS, ServerSettings, base_path,
};
pub use state::{App, Parts, Phase};
pub use telemetry::{LogFormat, Telemetry, TelemetryError, start_telemetry};
pub use tools::ToolPolicy;
