//! Tokens and costs, counted as the CLI does: per model, over the life of the process, including what a resumed
//! session carried over.

use super::profile::Profile;
use crate::json::Json;
use crate::{array, object};

/// Tokens of one or more requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_creation: u64,
    pub(crate) cache_read: u64,
}

impl Tokens {
    /// The usage of an API response.
    pub(crate) fn of(usage: &Json) -> Self {
        let count =
            |key| usage.integer_of(key).and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
        Self {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_creation: count("cache_creation_input_tokens"),
            cache_read: count("cache_read_input_tokens"),
        }
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.cache_creation += more.cache_creation;
        self.cache_read += more.cache_read;
    }

    /// The sum of all kinds.
    pub(crate) fn total(&self) -> u64 {
        self.input + self.output + self.cache_creation + self.cache_read
    }

    /// The `usage` of a result.
    pub(crate) fn to_json(self, profile: &Profile) -> Json {
        let thinking = || object! { "thinking_tokens" => 0 };
        let mut usage = object! {};
        if !profile.is_old() && self == Self::default() {
            usage.set("output_tokens_details", thinking());
        }
        usage.set("input_tokens", self.input);
        usage.set("cache_creation_input_tokens", self.cache_creation);
        usage.set("cache_read_input_tokens", self.cache_read);
        usage.set("output_tokens", self.output);
        if !profile.is_old() && self != Self::default() {
            usage.set("output_tokens_details", thinking());
        }
        usage.set("server_tool_use", object! { "web_search_requests" => 0, "web_fetch_requests" => 0 });
        usage.set("service_tier", "standard");
        usage.set(
            "cache_creation",
            object! { "ephemeral_1h_input_tokens" => 0, "ephemeral_5m_input_tokens" => self.cache_creation },
        );
        if !profile.is_old() {
            usage.set("inference_geo", "");
            usage.set("iterations", array![]);
            usage.set("speed", "standard");
            usage.set("fallback_credit", Json::Null);
        }
        usage
    }
}

#[derive(Debug, Clone, PartialEq)]
struct ModelTotal {
    model: String,
    tokens: Tokens,
    usd: f64,
}

/// Outcomes of this process's sub-agents.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentCounts {
    pub(crate) background: u64,
    pub(crate) foreground: u64,
    pub(crate) unset: u64,
    pub(crate) started_in_background: u64,
    pub(crate) max_depth: u64,
    pub(crate) by_subagents: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) killed: u64,
    pub(crate) kinds: Vec<(String, u64)>,
}

impl AgentCounts {
    fn to_json(&self) -> Json {
        let kinds = self.kinds.iter().map(|(kind, count)| (kind.clone(), Json::from(*count))).collect();
        object! {
            "spawned" => self.background + self.foreground + self.unset,
            "requested" => object! {
                "background" => self.background,
                "foreground" => self.foreground,
                "unset" => self.unset,
            },
            "started_in_background" => self.started_in_background,
            "max_depth" => self.max_depth,
            "spawned_by_subagents" => self.by_subagents,
            "completed" => self.completed,
            "failed" => self.failed,
            "killed" => object! { "parent" => 0, "user" => self.killed, "system" => 0 },
            "refused" => object! { "depth_limit" => 0, "concurrency_limit" => 0, "budget" => 0 },
            "by_type" => Json::Object(kinds),
        }
    }
}

/// What was spent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    models: Vec<ModelTotal>,
    since: Vec<ModelTotal>,
    total: f64,
    /// What a resumed session had spent before.
    brought: f64,
    pub(crate) agents: AgentCounts,
}

impl Ledger {
    /// Counts a request.
    pub(crate) fn charge(&mut self, profile: &Profile, model: &str, tokens: Tokens) {
        let price = profile.price(model);
        let million = |count: u64| count as f64 / 1e6;
        let mut usd = million(tokens.input) * price.input + million(tokens.output) * price.output;
        // Added only if there are any, so that the sums have the same last digits as the real ones.
        if tokens.cache_creation + tokens.cache_read > 0 {
            usd += million(tokens.cache_read) * price.input * 0.1;
            usd += million(tokens.cache_creation) * price.input * 1.25;
        }
        self.total += usd;
        for list in [&mut self.models, &mut self.since] {
            match list.iter_mut().find(|entry| entry.model == model) {
                Some(entry) => {
                    entry.tokens.add(tokens);
                    entry.usd += usd;
                }
                None => list.push(ModelTotal { model: model.to_owned(), tokens, usd }),
            }
        }
    }

    /// The total, including what was carried over.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// What this process has spent itself.
    pub(crate) fn own(&self) -> f64 {
        self.total - self.brought
    }

    /// Resets everything, as `/clear` does.
    pub(crate) fn clear(&mut self) {
        *self = Self { agents: std::mem::take(&mut self.agents), ..Self::default() };
    }

    /// `modelUsage`.
    pub(crate) fn model_usage(&self, profile: &Profile) -> Json {
        usage_json(&self.models, profile)
    }

    /// `model_usage_since_last_result`, which is reset each time it is read.
    pub(crate) fn take_since(&mut self, profile: &Profile) -> Json {
        usage_json(&std::mem::take(&mut self.since), profile)
    }

    /// `subagent_stats`.
    pub(crate) fn agent_stats(&self) -> Json {
        self.agents.to_json()
    }

    /// The last line of a session file.
    pub(crate) fn cost_state(&self, profile: &Profile, session: &str) -> Json {
        object! {
            "type" => "cost-state",
            "sessionId" => session,
            "totalCostUSD" => self.total,
            "modelUsage" => self.model_usage(profile),
            "hasUnknownModelCost" => false,
        }
    }

    /// Carries over a saved `cost-state` line.
    pub(crate) fn restore(&mut self, state: &Json) {
        self.total = state.number_of("totalCostUSD").unwrap_or_default();
        self.brought = self.total;
        let members = state.get("modelUsage").map(Json::members).unwrap_or_default();
        self.models = members
            .iter()
            .map(|(model, usage)| {
                let count = |key| {
                    usage.integer_of(key).and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
                };
                let tokens = Tokens {
                    input: count("inputTokens"),
                    output: count("outputTokens"),
                    cache_creation: count("cacheCreationInputTokens"),
                    cache_read: count("cacheReadInputTokens"),
                };
                ModelTotal {
                    model: model.clone(),
                    tokens,
                    usd: usage.number_of("costUSD").unwrap_or_default(),
                }
            })
            .collect();
    }

    /// The text of `get_session_cost`.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("Total cost:            ${:.4}\nUsage by model:", self.total);
        for entry in &self.models {
            let tokens = entry.tokens;
            text.push_str(&format!(
                "\n{:>20}:  {} input, {} output, {} cache read, {} cache write (${:.4})",
                entry.model, tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation, entry.usd
            ));
        }
        text
    }
}

fn usage_json(models: &[ModelTotal], profile: &Profile) -> Json {
    let member = |entry: &ModelTotal| {
        let (tokens, price) = (entry.tokens, profile.price(&entry.model));
        let mut usage = object! {
            "inputTokens" => tokens.input,
            "outputTokens" => tokens.output,
            "cacheReadInputTokens" => tokens.cache_read,
            "cacheCreationInputTokens" => tokens.cache_creation,
            "webSearchRequests" => 0,
            "costUSD" => entry.usd,
            "contextWindow" => price.context_window,
            "maxOutputTokens" => price.max_output,
        };
        if !profile.is_old() {
            usage = usage.with_all(object! {
                "thinkingTokens" => 0,
                "cacheCreationEphemeral5mInputTokens" => tokens.cache_creation,
                "cacheCreationEphemeral1hInputTokens" => 0,
                "canonicalModel" => entry.model.as_str(),
                "provider" => "firstParty",
                "costBasis" => "list",
            });
        }
        (entry.model.clone(), usage)
    };
    Json::Object(models.iter().map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Tokens = Tokens { input: 100, output: 50, cache_creation: 0, cache_read: 0 };

    #[test]
    fn costs_match_the_recordings_to_the_last_digit() {
        let (old, new) = (Profile::of("2.1.9"), Profile::of("2.1.325"));
        let mut ledger = Ledger::default();
        for _ in 0..13 {
            ledger.charge(&new, "claude-opus-5-5", USUAL);
        }
        assert_eq!(ledger.total().to_string(), "0.018199999999999997");
        let mut ledger = Ledger::default();
        ledger.charge(&old, old.default_model(), USUAL);
        assert_eq!(ledger.total().to_string(), "0.0010500000000000002");
        ledger.charge(&old, old.small_model(), USUAL);
        let small = ledger
            .model_usage(&old)
            .get("claude-haiku-4-5-20251001")
            .and_then(|usage| usage.number_of("costUSD"));
        assert_eq!(small, Some(0.00035));
    }

    #[test]
    fn a_restored_session_continues_from_its_total_and_counts_its_own_spending() {
        let profile = Profile::of("2.1.325");
        let mut first = Ledger::default();
        first.charge(&profile, "claude-opus-5-5", Tokens { input: 1000, output: 200, ..Tokens::default() });
        let mut second = Ledger::default();
        second.restore(&first.cost_state(&profile, "s"));
        second.charge(&profile, "claude-opus-5-5", Tokens { input: 5000, output: 600, ..Tokens::default() });
        assert_eq!(second.total(), 0.04);
        assert!((second.own() - 0.032).abs() < 1e-12);
        let since = second.take_since(&profile);
        assert_eq!(since.at(&["claude-opus-5-5", "inputTokens"]).and_then(Json::as_i64), Some(5000));
        assert_eq!(second.take_since(&profile), object! {});
    }
}
