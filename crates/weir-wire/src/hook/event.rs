//! When the CLI calls a hook.

use std::fmt;

macro_rules! events {
    ($( $(#[$doc:meta])* $name:ident, )*) => {
        /// When the CLI calls a hook.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HookEvent {
            $( $(#[$doc])* $name, )*
            /// An event that this version of Weir does not know.
            Other(String),
        }

        impl HookEvent {
            /// All events that Weir knows.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// Its name for the CLI.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$name => stringify!($name), )*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for HookEvent {
            fn from(name: &str) -> Self {
                match name {
                    $( stringify!($name) => Self::$name, )*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    };
}

events! {
    /// Before a tool runs.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A tool has failed.
    PostToolUseFailure,
    /// All tool calls of a message are finished.
    PostToolBatch,
    /// The CLI has something to tell the user.
    Notification,
    /// A message was sent.
    UserPromptSubmit,
    /// A slash command or a prompt of an MCP server became a message.
    UserPromptExpansion,
    /// A session begins or continues.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The main agent has finished its answer.
    Stop,
    /// A turn has failed.
    StopFailure,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent has finished.
    SubagentStop,
    /// Before the session is compacted.
    PreCompact,
    /// The session was compacted.
    PostCompact,
    /// Before the model is changed.
    PreModelSwitch,
    /// The model was changed.
    PostModelSwitch,
    /// Before a person is asked for permission.
    PermissionRequest,
    /// A tool call was denied.
    PermissionDenied,
    /// The CLI prepares a folder.
    Setup,
    /// A member of a team has nothing to do.
    TeammateIdle,
    /// A task of a team was created.
    TaskCreated,
    /// A task of a team was completed.
    TaskCompleted,
    /// An MCP server asks the user for input.
    Elicitation,
    /// The user's answer to an MCP server.
    ElicitationResult,
    /// A settings file has changed.
    ConfigChange,
    /// A worktree is needed.
    WorktreeCreate,
    /// A worktree is no longer needed.
    WorktreeRemove,
    /// A file with instructions was loaded.
    InstructionsLoaded,
    /// The working directory has changed.
    CwdChanged,
    /// A watched file has changed.
    FileChanged,
    /// A folder was added to the session.
    DirectoryAdded,
    /// A part of an answer is about to be shown.
    MessageDisplay,
}

impl From<String> for HookEvent {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_cli() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::from(event.as_str()), *event);
        }
        assert_eq!(HookEvent::PreToolUse.to_string(), "PreToolUse");
        assert_eq!(HookEvent::from("Sunrise"), HookEvent::Other("Sunrise".to_owned()));
    }
}
