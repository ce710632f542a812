//! The server itself: who asks, tokens, the audit log, health.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::audit::AuditEntry;
use crate::auth::{Role, TokenInfo};

/// Who the client is and what it may do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// The name of the token.
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The only session that it gives access to.
    pub(crate) session: Option<String>,
    /// Expiry time, in milliseconds since 1970.
    pub(crate) expires_at: Option<i64>,
    /// What is left of its budget, in dollars.
    pub(crate) budget_left_usd: Option<f64>,
    /// The version of the server.
    pub(crate) version: &'static str,
    /// Folders below which sessions may work.
    pub(crate) roots: Vec<String>,
    /// Permission modes that this server allows.
    pub(crate) permission_modes: Vec<String>,
    /// Slash commands that this token may run.
    pub(crate) slash_commands: Vec<String>,
    /// Models to offer.
    pub(crate) models: Vec<String>,
    /// Whether the server runs in demo mode.
    pub(crate) demo: bool,
    /// Whether the CLI runs in a sandbox: it can neither read nor write outside its session's root.
    pub(crate) sandbox: bool,
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateToken {
    /// Name of the holder.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The only session that it gives access to.
    pub(crate) session: Option<String>,
    /// Seconds until the token expires.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
    /// What its holder may spend, in dollars.
    pub(crate) max_cost_usd: Option<f64>,
    /// Maximum requests per minute.
    #[schema(minimum = 1)]
    pub(crate) requests_per_minute: Option<u32>,
}

/// A created token.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    /// The secret, which is only returned here.
    pub(crate) token: String,
    /// The token's properties.
    #[serde(flatten)]
    pub(crate) info: TokenInfo,
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenList {
    /// The tokens, the oldest first.
    pub(crate) tokens: Vec<TokenInfo>,
}

/// Which entries of the audit log to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// Page size.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
    /// `next_before` of the previous page.
    pub(crate) before: Option<u64>,
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// `before` for the next page.
    pub(crate) next_before: Option<u64>,
}

/// Health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, `stopping`, `disk_full`, or `store_unusable`.
    pub(crate) status: &'static str,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What slows the server down, in words for people; left out if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
}
