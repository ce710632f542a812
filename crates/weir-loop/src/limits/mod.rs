//! The table of the loop's limits. A limit is one row here: its key in the configuration, its default, its name, unit
//! and flag, and how far it is used. The configuration and its check, the command line, the dry run, the status, the
//! reports and the decision when a limit is reached follow from the row.
//!
//! There is no unbounded mode: each limit has a default, and none can be disabled.

mod amount;
mod reached;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use amount::{Amount, Unit};
pub use reached::LimitReached;

use crate::config::Time;
use crate::state::{Budget, TaskRecord};

/// A row: a limit of `L`, the limits of a run or of a task.
#[derive(Debug)]
pub struct Limit<L: LimitTable> {
    /// Its key in the configuration.
    pub key: &'static str,
    /// Its name in reports.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Its flag on the command line, if it has one.
    pub flag: Option<&'static str>,
    /// What it limits, in a sentence.
    pub about: &'static str,
    get: fn(&L) -> Option<f64>,
    set: fn(&mut L, f64),
    used: Option<fn(&L::Used) -> f64>,
}

/// A table of limits.
pub trait LimitTable: Sized + 'static {
    /// What the limits are compared with.
    type Used: 'static;
    /// The name of the table in the configuration.
    const NAME: &'static str;
    /// What is limited.
    const SUBJECT: &'static str;
    /// The rows. The first one that is reached counts.
    const ROWS: &'static [Limit<Self>];

    /// The limits in a sentence, each with how much of it is used.
    fn words(&self, used: Option<&Self::Used>) -> String {
        let rows = Self::ROWS.iter().filter_map(|limit| {
            let words = limit.max(self)?.words();
            let used = used.and_then(|used| limit.used(used)).filter(|used| used.value > 0.0);
            Some(used.map_or_else(|| words.clone(), |used| format!("{words} (used {used})")))
        });
        format!("limits of the {}: {}", Self::SUBJECT, rows.collect::<Vec<_>>().join(", "))
    }

    /// What is used of each limit that has a measure: the row, what is used, and the limit.
    fn usage(&self, used: &Self::Used) -> impl Iterator<Item = (&'static Limit<Self>, Amount, Amount)> {
        Self::ROWS.iter().filter_map(|limit| Some((limit, limit.used(used)?, limit.max(self)?)))
    }

    /// The limits that are reached.
    fn reached(&self, used: &Self::Used) -> impl Iterator<Item = (&'static Limit<Self>, Amount, Amount)> {
        self.usage(used).filter(|(_, used, max)| used.value >= max.value)
    }
}

impl<L: LimitTable> Limit<L> {
    /// Its full key in the configuration, below `[loop]`.
    pub fn place(&self) -> String {
        format!("{}.{}", L::NAME, self.key)
    }

    /// The limit itself, unless it is left open.
    pub fn max(&self, limits: &L) -> Option<Amount> {
        (self.get)(limits).map(|value| self.amount(value))
    }

    /// Changes the limit.
    pub fn set(&self, limits: &mut L, value: f64) {
        (self.set)(limits, value);
    }

    /// How much of it is used, if there is a measure. The others are decided where they apply.
    pub fn used(&self, used: &L::Used) -> Option<Amount> {
        self.used.map(|measure| self.amount(measure(used)))
    }

    /// That it was reached.
    pub fn reached_words(&self, used: Amount, max: Amount) -> String {
        let (subject, place) = (L::SUBJECT, self.place());
        let verb = if self.unit == Unit::Dollars { "cost" } else { "used" };
        format!("the {subject} has {verb} {used} of {} ({place})", max.words())
    }

    fn amount(&self, value: f64) -> Amount {
        Amount { value, unit: self.unit }
    }
}

/// The type of a limit in the configuration.
trait LimitValue {
    fn value(&self) -> Option<f64>;
    fn of(value: f64) -> Self;
}

impl LimitValue for f64 {
    fn value(&self) -> Option<f64> {
        Some(*self)
    }

    fn of(value: f64) -> Self {
        value
    }
}

impl LimitValue for u32 {
    fn value(&self) -> Option<f64> {
        Some(f64::from(*self))
    }

    fn of(value: f64) -> Self {
        value as Self
    }
}

impl LimitValue for u64 {
    fn value(&self) -> Option<f64> {
        Some(*self as f64)
    }

    fn of(value: f64) -> Self {
        value as Self
    }
}

impl LimitValue for Time {
    fn value(&self) -> Option<f64> {
        self.as_millis().value()
    }

    fn of(value: f64) -> Self {
        Self::millis(value as u64)
    }
}

impl<T: LimitValue> LimitValue for Option<T> {
    fn value(&self) -> Option<f64> {
        self.as_ref().and_then(T::value)
    }

    fn of(value: f64) -> Self {
        Some(T::of(value))
    }
}

/// Declares a table: the struct of the configuration, its defaults and its rows.
macro_rules! limits {
    (
        $(#[$attribute:meta])*
        $struct:ident, $name:literal, of the $subject:literal, measured by $used:ty {$(
            $(#[doc = $about:literal])+
            $key:ident: $type:ty = $default:expr,
                { $label:literal, $unit:expr $(, flag $flag:literal)? $(, used $measure:expr)? }
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $struct {$(
            $(#[doc = $about])+
            pub $key: $type,
        )+}

        impl Default for $struct {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl LimitTable for $struct {
            type Used = $used;
            const NAME: &'static str = $name;
            const SUBJECT: &'static str = $subject;
            const ROWS: &'static [Limit<Self>] = &[$(Limit {
                key: stringify!($key),
                name: $label,
                unit: $unit,
                flag: limits!(@option $($flag)?),
                about: concat!($($about),+),
                get: |limits| LimitValue::value(&limits.$key),
                set: |limits, value| limits.$key = LimitValue::of(value),
                used: limits!(@option $($measure)?),
            },)+];
        }
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
}

limits! {
    /// Limits of the whole run. The first one reached ends it, after the current task was judged.
    Limits, "limits", of the "run", measured by Budget {
        /// Dollars, by the CLI's estimate.
        cost_usd: f64 = 10.0,
            { "cost", Unit::Dollars, flag "max-cost", used |budget| budget.cost_usd }
        /// Sessions with the model.
        iterations: u32 = 50,
            { "iterations", Unit::Count("iterations"), flag "max-iterations", used |budget| f64::from(budget.iterations) }
        /// Tokens, read and written, caches included.
        tokens: u64 = 200_000_000,
            { "tokens", Unit::Count("tokens"), used |budget| budget.tokens as f64 }
        /// Time at work. Waiting for a rate limit or for a person does not count.
        wall_time: Time = Time::hours(8),
            { "time at work", Unit::Time, used |budget| budget.active_ms as f64 }
        /// How much of the account's window may be used, if the CLI reports it: 1 is all of it. Above this, the loop waits
        /// for the next window.
        plan_utilization: f64 = 0.95,
            { "account's window", Unit::Share("of the account's window") }
        /// The time over which dollars, iterations, tokens and time at work are counted, over all runs of this workspace.
        /// Without it each run counts by itself.
        period: Option<Time> = None,
            { "period", Unit::Period, flag "limit-period" }
    }
}

limits! {
    /// Limits of each task.
    TaskLimits, "task_limits", of the "task", measured by TaskRecord {
        /// How often a task is tried. The output of a failed gate goes into the next attempt's prompt.
        attempts: u32 = 3,
            { "attempts", Unit::Count("attempts") }
        /// Dollars.
        cost_usd: f64 = 3.0,
            { "cost", Unit::Dollars, used TaskRecord::cost_usd }
        /// Tokens.
        tokens: u64 = 50_000_000,
            { "tokens", Unit::Count("tokens"), used |task| task.tokens() as f64 }
        /// Time at work, over all its sessions and checks. Waiting for a rate limit or for a person does not count.
        wall_time: Time = Time::minutes(90),
            { "time at work", Unit::Time, used |task| task.active_ms as f64 }
        /// Turns with the model in one session.
        turns: Option<u32> = None,
            { "turns", Unit::Count("turns in a session") }
        /// How often the same failure may occur before the task is given up.
        same_failure: u32 = 3,
            { "same failure", Unit::Count("times the same failure") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(budget: &Budget) -> Option<&'static str> {
        Limits::default().reached(budget).next().map(|(limit, ..)| limit.key)
    }

    #[test]
    fn each_limit_holds_by_itself() {
        let limits = Limits::default();
        let below = Budget { cost_usd: 9.99, iterations: 49, tokens: 1, active_ms: 1, unknown_costs: 0 };
        assert_eq!(reached(&below), None);
        assert_eq!(reached(&Budget { cost_usd: 10.0, ..below }), Some("cost_usd"));
        assert_eq!(reached(&Budget { iterations: 50, ..below }), Some("iterations"));
        assert_eq!(reached(&Budget { tokens: limits.tokens, ..below }), Some("tokens"));
        // Unknown costs never stop a run; time does.
        let unknown =
            Budget { cost_usd: 0.0, unknown_costs: 40, active_ms: limits.wall_time.as_millis(), ..below };
        assert_eq!(reached(&unknown), Some("wall_time"));
    }

    #[test]
    fn every_row_reads_and_changes_its_own_limit() {
        fn check<L: LimitTable + Default>() {
            for limit in L::ROWS {
                let mut limits = L::default();
                limit.set(
                    &mut limits,
                    0.5_f64.max(f64::from(u8::from(!matches!(limit.unit, Unit::Share(_))))),
                );
                let changed = L::ROWS.iter().filter(|row| row.max(&limits) != row.max(&L::default()));
                assert_eq!(changed.map(|row| row.key).collect::<Vec<_>>(), [limit.key]);
                assert!(!limit.about.trim().is_empty() && !limit.name.is_empty());
            }
        }
        check::<Limits>();
        check::<TaskLimits>();
    }

    #[test]
    fn limits_in_words() {
        let budget = Budget { iterations: 3, ..Budget::default() };
        assert_eq!(
            Limits::default().words(Some(&budget)),
            "limits of the run: $10.00, 50 iterations (used 3), 200,000,000 tokens, 8 h 00 min working time, 95 % of the \
             account's window"
        );
        assert_eq!(
            TaskLimits::default().words(None),
            "limits of the task: 3 attempts, $3.00, 50,000,000 tokens, 1 h 30 min working time, 3 times the same failure"
        );
    }

    #[test]
    fn the_documentation_lists_every_limit() {
        let page = include_str!("../../../../docs/loop.md");
        let rows =
            Limits::ROWS.iter().map(|limit| limit.key).chain(TaskLimits::ROWS.iter().map(|limit| limit.key));
        for key in rows {
            assert!(page.contains(&format!("`{key}`")), "{key} is missing in docs/loop.md");
        }
    }
}
