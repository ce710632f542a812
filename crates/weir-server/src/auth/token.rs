//! Tokens as stored, and the principal behind a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_host::Actor;

use super::role::Role;
use super::secret::SecretHash;

/// A token as stored in the file, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Id for revoking the token; not secret.
    pub id: String,
    /// Name of the holder, for people.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The only session that it gives access to; none for all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Id of the token that made it: a share link ends with that token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<String>,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
    /// Expiry time, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars by the CLI's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What its holder has spent.
    #[serde(default)]
    pub spent_usd: f64,
    /// Amount charged for the holder's running turns if the server is killed before they end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_stake_usd: f64,
    /// Maximum requests per minute; none for the server's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// The hash of the secret.
    pub hash: SecretHash,
}

fn is_zero(amount: &f64) -> bool {
    *amount == 0.0
}

/// Properties of a token to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToken {
    /// Name of the holder.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The only session that it gives access to.
    pub session: Option<String>,
    /// Id of the token that makes it, for a share link.
    pub maker: Option<String>,
    /// Expiry time, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars.
    pub max_cost_usd: Option<f64>,
    /// Maximum requests per minute.
    pub requests_per_minute: Option<u32>,
}

impl NewToken {
    /// A token for all sessions that never expires.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self {
            name: name.into(),
            role,
            session: None,
            maker: None,
            expires_at: None,
            max_cost_usd: None,
            requests_per_minute: None,
        }
    }
}

impl Token {
    /// Whether the token has expired.
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// The public part of a token.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TokenInfo {
    /// Id for revoking the token; not secret.
    pub id: String,
    /// Name of the holder.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The only session that it gives access to.
    pub session: Option<String>,
    /// Id of the token that made it. A share link ends when that token is revoked or expires.
    pub maker: Option<String>,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
    /// Expiry time, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars.
    pub max_cost_usd: Option<f64>,
    /// What its holder has spent, in dollars.
    pub spent_usd: f64,
    /// Maximum requests per minute.
    pub requests_per_minute: Option<u32>,
}

impl From<&Token> for TokenInfo {
    fn from(token: &Token) -> Self {
        Self {
            id: token.id.clone(),
            name: token.name.clone(),
            role: token.role,
            session: token.session.clone(),
            maker: token.maker.clone(),
            created_at: token.created_at,
            expires_at: token.expires_at,
            max_cost_usd: token.max_cost_usd,
            spent_usd: token.spent_usd,
            requests_per_minute: token.requests_per_minute,
        }
    }
}

/// The token holder who makes a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Id of the token.
    pub token_id: String,
    /// Name of the holder.
    pub name: String,
    /// What the holder may do.
    pub role: Role,
    /// The only session that the holder may see.
    pub session: Option<String>,
    /// Id of the token that made this one, if it is a share link.
    pub maker: Option<String>,
    /// Expiry time, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What is left of the budget, in dollars; zero or less once it is used up.
    pub budget_left_usd: Option<f64>,
    /// Maximum requests per minute.
    pub requests_per_minute: Option<u32>,
}

impl From<&Token> for Principal {
    fn from(token: &Token) -> Self {
        Self {
            token_id: token.id.clone(),
            name: token.name.clone(),
            role: token.role,
            session: token.session.clone(),
            maker: token.maker.clone(),
            expires_at: token.expires_at,
            budget_left_usd: token.max_cost_usd.map(|max| max - token.spent_usd),
            requests_per_minute: token.requests_per_minute,
        }
    }
}

impl Principal {
    /// The holder as the host's actor. Its messages are handed over while the token is valid, and paid from the
    /// token's budget if it has one.
    pub fn actor(&self) -> Actor {
        Actor::new(&self.name).paying(&self.token_id)
    }

    /// Whether the holder may see this session.
    pub fn may_see(&self, session: &str) -> bool {
        self.session.as_deref().is_none_or(|only| only == session)
    }
}
