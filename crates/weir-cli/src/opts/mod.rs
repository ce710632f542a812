//! The command-line options. Each command's settings interpret them.

mod acp;
mod bridge;
mod chat;
mod completions;
mod doctor;
mod loop_limits;
mod loops;
mod man;
mod replay;
mod review;
mod run;
mod serve;
mod service;
mod session;
mod sessions;
mod store;
mod token;
mod trust;
mod values;
mod worktree;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use acp::AcpOpts;
pub(crate) use bridge::{
    BridgeCommand, BridgeConfigOpts, BridgeOpts, BridgePairOpts, BridgeRunOpts, BridgeStatusOpts,
    BridgeTryOpts, QueueOpt,
};
pub(crate) use chat::ChatOpts;
pub(crate) use completions::CompletionsOpts;
pub(crate) use doctor::DoctorOpts;
pub(crate) use loop_limits::LoopLimitOpts;
pub(crate) use loops::{
    LoopCommand, LoopConfigCommand, LoopListenOpts, LoopOpts, LoopPlaceOpts, LoopPlanOpts, LoopProcessOpts,
    LoopRunOpts,
};
pub(crate) use man::ManOpts;
pub(crate) use replay::{OutputOpt, ReplayOpts};
pub(crate) use review::{BaseOpts, ReviewCommand, ReviewOpts};
pub(crate) use run::{RunOpts, RunOutputOpt};
pub(crate) use serve::{DataOpts, DemoOpts, ListenOpts, LogFormatOpt, LogOpts, ServeOpts};
pub(crate) use service::{ServiceCommand, ServiceInstallOpts, ServiceOpts};
pub(crate) use session::{ConversationOpts, FileOpts, ProcessOpts, SessionOpts, TransportOpt};
pub(crate) use sessions::{ChangedOpts, ExportFormatOpt, PlacesOpts, SessionsCommand, SessionsOpts};
pub(crate) use store::{StoreCommand, StoreOpts, StorePlaceOpts};
pub(crate) use token::{AddTokenOpts, TokenCommand, TokenOpts};
pub(crate) use trust::{SandboxOpts, TrustOpts};
pub(crate) use worktree::{RepositoryOpts, WorktreeCommand, WorktreeOpts};

/// Drives the Claude Code CLI from a terminal, a page, an editor or a chat, and unattended.
#[derive(Debug, Parser)]
#[command(name = "weir", version, long_version = crate::version::long(), arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Opts {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunOpts>),
    Chat(Box<ChatOpts>),
    Sessions(SessionsOpts),
    Serve(Box<ServeOpts>),
    Acp(Box<AcpOpts>),
    Demo(Box<DemoOpts>),
    Service(ServiceOpts),
    Token(TokenOpts),
    Trust(TrustOpts),
    Worktree(WorktreeOpts),
    Review(ReviewOpts),
    Store(StoreOpts),
    Replay(ReplayOpts),
    Bridge(Box<BridgeOpts>),
    Loop(LoopOpts),
    Doctor(DoctorOpts),
    Completions(CompletionsOpts),
    Man(ManOpts),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatOpt {
    /// `agent-message-start`, `agent-text-delta`, …
    Agent,
    /// `system`, `text`, `tool_use`, `tool_result`, `result`, `error`, `done`
    Classic,
}
