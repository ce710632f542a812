//! Hooks that the host runs: when the CLI calls one, what it tells, and what the host may answer.

mod event;
mod input;
mod output;

pub use event::HookEvent;
pub use input::{BackgroundTaskSummary, HookContext, HookDetails, HookInput, ModelSwitch, ScheduledPrompt};
pub use output::{HookOutput, HookPermission, HookSpecificOutput, PermissionVerdict};
