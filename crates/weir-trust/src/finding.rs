//! The result of scanning a folder.

use serde::{Deserialize, Serialize};

/// What a folder would run or set, and a fingerprint of the files responsible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Findings {
    /// The findings, in the order in which the user should read them.
    pub items: Vec<Finding>,
    /// How many more findings `items` leaves out.
    pub more: usize,
    /// Changes whenever the folder's own files change.
    pub fingerprint: String,
    /// The same for files in the folders above, which also apply here.
    pub inherited: String,
}

impl Findings {
    /// Whether there is nothing a CLI would apply, apart from instructions for the model.
    pub fn is_harmless(&self) -> bool {
        self.more == 0 && self.items.iter().all(|item| item.kind == FindingKind::Instructions)
    }

    /// Whether the repository's own configuration makes git run programs, apart from hooks, which can be switched
    /// off. Assumed if some findings were left out.
    pub fn has_git_programs(&self) -> bool {
        self.more > 0 || self.items.iter().any(|item| item.kind == FindingKind::Git)
    }

    /// Whether there is anything that only some versions of the CLI can ignore: everything except what git runs.
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
    /// The kind of finding.
    pub kind: FindingKind,
    /// The file responsible, relative to the folder if it is inside.
    pub file: String,
    /// What it does, in short: the command, the variable or the name.
    pub what: String,
}

/// The kind of a finding, the most dangerous first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum FindingKind {
    /// A command that runs at the start, before or after tools, or with every message.
    Hook,
    /// A command whose output is used as a key or login.
    Credential,
    /// A command or address used as an MCP server.
    McpServer,
    /// An environment variable for the CLI and everything it runs.
    Environment,
    /// A program that git runs because of the repository's own configuration.
    Git,
    /// A program that git runs on certain occasions. It is switched off in folders that are not trusted.
    GitHook,
    /// A tool that needs no permission.
    Permission,
    /// Any other setting.
    Setting,
    /// A plugin, or a source of plugins.
    Plugin,
    /// A slash command, an agent or a skill; each may run commands when used.
    Command,
    /// Something that could not be read, so its effect is unknown.
    Unreadable,
    /// Text for the model, such as `CLAUDE.md`. Changing it does not require trusting the folder again.
    Instructions,
}

impl FindingKind {
    /// Its name, for people.
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
