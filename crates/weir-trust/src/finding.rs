//! What was found in a folder.

use serde::{Deserialize, Serialize};

/// What a folder would run or set, and a fingerprint of the files that say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Findings {
    /// What was found, in the order in which a person should read it.
    pub items: Vec<Finding>,
    /// How many more there are that `items` leaves out.
    pub more: usize,
    /// Changes with every change of the folder's own files.
    pub fingerprint: String,
    /// The same for files in the folders above, which count here as well.
    pub inherited: String,
}

impl Findings {
    /// Whether there is nothing that a CLI would honour, apart from instructions for the model.
    pub fn is_harmless(&self) -> bool {
        self.more == 0 && self.items.iter().all(|item| item.kind == FindingKind::Instructions)
    }

    /// Whether the repository's own configuration makes git run programs, apart from hooks, which can be switched off. Where
    /// not everything is told, it may.
    pub fn has_git_programs(&self) -> bool {
        self.more > 0 || self.items.iter().any(|item| item.kind == FindingKind::Git)
    }

    /// Whether there is anything that only some versions of the CLI can leave out: all but what git runs.
    pub fn has_settings(&self) -> bool {
        self.more > 0
            || self.items.iter().any(|item| {
                !matches!(item.kind, FindingKind::Git | FindingKind::GitHook | FindingKind::Instructions)
            })
    }
}

/// One thing that a folder would run or set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Finding {
    /// What sort of thing.
    pub kind: FindingKind,
    /// The file that says so, relative to the folder where it lies in it.
    pub file: String,
    /// The command, the variable, the name: what it does, in short.
    pub what: String,
}

/// What sort of thing a folder has. The most dangerous first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum FindingKind {
    /// A command that runs at the start, before or after tools, or with every message.
    Hook,
    /// A command whose output is used as a key or a login.
    Credential,
    /// A command or an address that is used as an MCP server.
    McpServer,
    /// A variable in the environment of the CLI and of everything that it runs.
    Environment,
    /// A program that git runs because of the repository's own configuration.
    Git,
    /// A program that git runs on certain occasions. In a folder that nobody has trusted it is switched off.
    GitHook,
    /// A tool that needs no permission.
    Permission,
    /// Any other setting.
    Setting,
    /// A plugin or a place that plugins come from.
    Plugin,
    /// A slash command, an agent or a skill; each may run commands when it is used.
    Command,
    /// Something that could not be read, so nobody knows what it does.
    Unreadable,
    /// Text that the model is given, such as `CLAUDE.md`. Changes of it do not ask again.
    Instructions,
}

impl FindingKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Credential => "credential helper",
            Self::McpServer => "MCP server",
            Self::Environment => "environment",
            Self::Git => "git configuration",
            Self::GitHook => "git hook",
            Self::Permission => "permission rule",
            Self::Setting => "setting",
            Self::Plugin => "plugin",
            Self::Command => "command, agent or skill",
            Self::Unreadable => "cannot be read",
            Self::Instructions => "instructions",
        }
    }
}
