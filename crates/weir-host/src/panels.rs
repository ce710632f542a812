//! What a session's CLI says about itself, as data for clients: MCP servers, rules, hooks, usage.

use serde::{Deserialize, Serialize};
use weir_wire::answer::{
    ActiveHook, ActiveRule, ContextUsage, McpServerStatus, TaskOutput as WireTaskOutput, UsageReport,
};

/// The MCP servers of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpServers {
    /// The servers.
    pub servers: Vec<McpServerInfo>,
}

/// An MCP server of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpServerInfo {
    /// Its name.
    pub name: String,
    /// `connected`, `failed`, `needs-auth`, `pending`, `disabled`, …
    pub status: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Where it is configured, such as `project`, `user` or `dynamic` for one that was added for this session.
    pub scope: Option<String>,
    /// The names of its tools, from versions that list them.
    pub tools: Vec<String>,
}

impl From<McpServerStatus> for McpServerInfo {
    fn from(server: McpServerStatus) -> Self {
        let McpServerStatus { name, status, error, scope, tools, .. } = server;
        Self { name, status, error, scope, tools: tools.into_iter().map(|tool| tool.name).collect() }
    }
}

/// How to log in to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpLogin {
    /// The page to log in at, if there is something to do for a person.
    pub url: Option<String>,
}

/// The end of the output of a background task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskOutputTail {
    /// The end of the output.
    pub output: String,
    /// Length of the whole output in bytes.
    pub total_bytes: u64,
    /// Whether something is missing at the beginning.
    pub truncated: bool,
}

impl From<WireTaskOutput> for TaskOutputTail {
    fn from(output: WireTaskOutput) -> Self {
        Self { output: output.output, total_bytes: output.total_bytes, truncated: output.truncated }
    }
}

/// The permission rules that apply to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RuleList {
    /// The rules.
    pub rules: Vec<RuleInfo>,
    /// Whether only rules of the administrator count.
    pub managed_only: bool,
}

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RuleInfo {
    /// `allow`, `deny` or `ask`.
    pub behavior: String,
    /// The rule, such as `Bash(git:*)`.
    pub rule: String,
    /// Where it comes from, such as `userSettings`, `session` or `cliArg`.
    pub source: String,
    /// Whether it can be removed here: it was made for this session, and is in no file.
    pub removable: bool,
}

/// A permission rule to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RemoveRule {
    /// `allow` or `deny`.
    pub behavior: String,
    /// The rule, as listed.
    pub rule: String,
    /// Its source, as listed.
    pub source: String,
}

/// Rules that people have allowed for the running process, with "for this session".
pub(crate) const OF_PROCESS: &str = "session";
/// Rules that Weir gives to the process.
pub(crate) const OF_START: &str = "cliArg";

impl From<ActiveRule> for RuleInfo {
    fn from(rule: ActiveRule) -> Self {
        let ActiveRule { behavior, source, rule, .. } = rule;
        Self { behavior, rule, removable: false, source }
    }
}

/// The hooks that apply to a session, and its skills and plugins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ExtensionList {
    /// The hooks of the settings; none from a version that does not list them (before 2.1.325).
    pub hooks: Option<Vec<HookInfo>>,
    /// The skills that can be used.
    pub skills: Vec<String>,
    /// The plugins that are loaded.
    pub plugins: Vec<String>,
}

/// A hook of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HookInfo {
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// Which tools.
    pub matcher: String,
    /// Where it comes from.
    pub source: String,
    /// The command or prompt.
    pub command: String,
}

impl From<ActiveHook> for HookInfo {
    fn from(hook: ActiveHook) -> Self {
        let ActiveHook { event, matcher, source, command_text, .. } = hook;
        Self { event, matcher, source, command: command_text }
    }
}

/// What fills the context window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContextReport {
    /// The model whose window it is.
    pub model: String,
    /// Tokens in use.
    pub total_tokens: u64,
    /// Size of the window, without what is reserved.
    pub max_tokens: u64,
    /// The part in use, in percent.
    pub percentage: f64,
    /// What fills it, and what is free.
    pub parts: Vec<ContextPart>,
}

/// A part of the context window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContextPart {
    /// Its name for people.
    pub name: String,
    /// Its size in tokens.
    pub tokens: u64,
    /// `used`, `free`, `buffer` or `deferred`, from versions that say so.
    pub kind: Option<String>,
}

impl From<ContextUsage> for ContextReport {
    fn from(usage: ContextUsage) -> Self {
        let ContextUsage { categories, total_tokens, max_tokens, percentage, model, .. } = usage;
        let part = |part: weir_wire::answer::ContextCategory| ContextPart {
            name: part.name,
            tokens: part.tokens,
            kind: part.kind,
        };
        let parts = categories.into_iter().map(part).collect();
        Self { model, total_tokens, max_tokens, percentage, parts }
    }
}

/// How much of the account's limits is used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AccountUsage {
    /// The account's plan; none for a key.
    pub plan: Option<String>,
    /// Its limits, such as `five_hour`; empty where the account has none, such as one that pays by use.
    pub limits: Vec<AccountLimit>,
}

/// A limit of the account.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AccountLimit {
    /// Its name.
    pub name: String,
    /// The part in use, in percent.
    pub used_percent: Option<f64>,
    /// When it starts over, as the CLI says it: RFC 3339.
    pub resets_at: Option<String>,
}

impl From<UsageReport> for AccountUsage {
    fn from(report: UsageReport) -> Self {
        let limits = report.rate_limits.as_ref().and_then(serde_json::Value::as_object);
        let limit = |(name, limit): (&String, &serde_json::Value)| {
            let limit = limit.as_object()?;
            let used_percent = limit.get("utilization").and_then(serde_json::Value::as_f64);
            let resets_at = limit.get("resets_at").and_then(serde_json::Value::as_str);
            let is_limit = used_percent.is_some() || resets_at.is_some();
            is_limit.then(|| AccountLimit {
                name: name.clone(),
                used_percent,
                resets_at: resets_at.map(str::to_owned),
            })
        };
        let limits = limits.into_iter().flatten().filter_map(limit).collect();
        Self { plan: report.subscription_type, limits }
    }
}
