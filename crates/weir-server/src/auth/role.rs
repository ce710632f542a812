//! What a token may do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token may do. Each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See sessions.
    Viewer,
    /// Answer permissions and questions, interrupt and stop.
    Approver,
    /// Create sessions, send messages, change and delete.
    Driver,
    /// Create and revoke tokens, read the audit log.
    Admin,
}

impl Role {
    /// All roles, the least powerful first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Approver, Self::Driver, Self::Admin];

    /// The role's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Driver => "driver",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| format!("unknown role `{text}`; the roles are {}", names()))
    }
}
