//! Tokens as they are kept, and who somebody with a token is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_host::Actor;

use super::role::Role;
use super::secret::SecretHash;

/// A token as it stands in the file. The secret itself is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Names it, for revoking; not secret.
    pub id: String,
    /// Who has it, for people.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one session that it is good for, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The token that made it, by its id: a share link ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When it ends, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars by the CLI's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What its holder has spent.
    #[serde(default)]
    pub spent_usd: f64,
    /// What turns of its holder that run now are charged if the server is killed before they end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_stake_usd: f64,
    /// How many requests its holder may make in a minute; the server's own limit for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// The hash of the secret.
    pub hash: SecretHash,
}

fn is_zero(amount: &f64) -> bool {
    *amount == 0.0
}

/// What a token is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToken {
    /// Who gets it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one session that it is good for.
    pub session: Option<String>,
    /// The token that makes it, for a share link.
    pub maker: Option<String>,
    /// When it ends, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars.
    pub max_cost_usd: Option<f64>,
    /// How many requests its holder may make in a minute.
    pub requests_per_minute: Option<u32>,
}

impl NewToken {
    /// A token for all sessions, without an end.
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
    /// Whether it has ended.
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// What may be told of a token.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TokenInfo {
    /// Names it, for revoking; not secret.
    pub id: String,
    /// Who has it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one session that it is good for.
    pub session: Option<String>,
    /// The token that made it, by its id. A share link ends when that one is revoked or expires.
    pub maker: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When it ends, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What its holder may spend, in dollars.
    pub max_cost_usd: Option<f64>,
    /// What its holder has spent, in dollars.
    pub spent_usd: f64,
    /// How many requests its holder may make in a minute.
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

/// Who makes a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// The token.
    pub token_id: String,
    /// Who has it.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The one session that they may see.
    pub session: Option<String>,
    /// The token that made theirs, where it is a share link.
    pub maker: Option<String>,
    /// When it ends, in milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// What they may still spend, in dollars; not above zero when it is used up.
    pub budget_left_usd: Option<f64>,
    /// How many requests they may make in a minute.
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
            budget_left_usd: token.max_cost_usd.map(|most| most - token.spent_usd),
            requests_per_minute: token.requests_per_minute,
        }
    }
}

impl Principal {
    /// Who they are for the host. What they send is paid from the token's budget, if it has one.
    pub fn actor(&self) -> Actor {
        let actor = Actor::new(&self.name);
        if self.budget_left_usd.is_some() { actor.paying(&self.token_id) } else { actor }
    }

    /// Whether this session is any of their business.
    pub fn may_see(&self, session: &str) -> bool {
        self.session.as_deref().is_none_or(|only| only == session)
    }
}
