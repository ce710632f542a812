//! What each token may still spend across all sessions, checked when a message is handed to the CLI.
//!
//! The cost of a turn is only known when it ends. So money is reserved for each running turn: as much as the token's
//! most expensive turn so far. Until a token's first cost is known, its turns run one at a time. A token therefore
//! exceeds its budget by at most one turn, or by the amount that concurrent turns cost more than any turn before them.
//!
//! The CLI does not report the cost of a turn that was interrupted or cut off. Such a turn is charged like the most
//! expensive one so far: otherwise interrupting every turn would be free. The token file records the same amount as at
//! stake while a turn runs, so it is charged even if the server is killed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_base::money::dollars;
use weir_base::time::now_ms;
use weir_host::{Billing, Payment};

use super::tokens::{Standing, Tokens};

/// Fraction of the budget charged for a turn of unknown cost while none of the token's costs is known.
const UNKNOWN_PART: f64 = 0.05;

/// The budgets of all tokens of a server.
#[derive(Debug)]
pub(crate) struct Budgets {
    tokens: Tokens,
    accounts: Mutex<Accounts>,
}

#[derive(Debug, Default)]
struct Accounts {
    by_token: HashMap<String, Account>,
    last_ticket: u64,
}

/// What is known about a token beyond its file.
#[derive(Debug, Default)]
struct Account {
    /// Reserved money, by ticket.
    set_aside: HashMap<u64, Ticket>,
    /// The most expensive turn so far.
    largest: Option<f64>,
    /// Spending that could not be written to the file. It counts all the same.
    unwritten: f64,
}

/// Money for a running turn.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    /// Expected cost. None if nothing is known: all that is left.
    amount: Option<f64>,
    /// Amount charged if the end of the turn is never reported.
    at_stake: f64,
}

/// Whether one more turn may run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Reserve this amount.
    Pays(Option<f64>),
    Waits,
    Spent,
}

impl Account {
    fn judge(&self, spent: f64, limit: f64) -> Verdict {
        if spent >= limit {
            return Verdict::Spent;
        }
        if self.set_aside.is_empty() {
            return Verdict::Pays(self.largest);
        }
        let set_aside: Option<f64> = self.set_aside.values().map(|ticket| ticket.amount).sum();
        match set_aside.zip(self.largest) {
            Some((set_aside, largest)) if spent + set_aside + largest <= limit => {
                Verdict::Pays(Some(largest))
            }
            _ => Verdict::Waits,
        }
    }
}

impl Budgets {
    /// The budgets of a starting server. What was at stake when an earlier server was killed counts as spent.
    pub(crate) fn new(tokens: Tokens) -> Self {
        if let Err(error) = tokens.lose_stakes() {
            tracing::error!(%error, "cannot charge the turns that were cut off when the server was killed");
        }
        Self { tokens, accounts: Mutex::default() }
    }

    /// Amount charged for a turn of unknown cost.
    fn assumed_cost(&self, account: &str) -> f64 {
        let limit = self.tokens.find(account).and_then(|token| token.max_cost_usd);
        let largest = self.lock().by_token.get(account).and_then(|known| known.largest);
        largest.or_else(|| limit.map(|limit| limit * UNKNOWN_PART)).unwrap_or(0.0)
    }

    /// Whether the spending of this account is counted.
    fn has_budget(&self, account: &str) -> bool {
        self.tokens.find(account).is_some_and(|token| token.max_cost_usd.is_some())
    }

    fn spend(&self, account: &str, cost_usd: f64, staked: f64) {
        let cost_usd = if cost_usd.is_finite() { cost_usd.max(0.0) } else { 0.0 };
        if cost_usd == 0.0 && staked == 0.0 || !self.has_budget(account) {
            return;
        }
        if let Err(error) = self.tokens.settle(account, cost_usd, staked) {
            tracing::error!(%error, token = account, cost_usd, "cannot write a cost to the token file; it is counted in memory only");
            self.lock().by_token.entry(account.to_owned()).or_default().unwritten += cost_usd;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        // No statement under the lock can panic halfway through.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Billing for Budgets {
    fn reserve(&self, account: &str) -> Payment {
        let closed = |how: &str| {
            let reason = format!("the token of the sender {how}; send a message with another one");
            Payment::Closed(reason)
        };
        if !self.tokens.is_known() {
            // Whether it was revoked will be known once the token file can be read again.
            return Payment::Wait;
        }
        let token = match (self.tokens.standing(account, now_ms()), self.tokens.find(account)) {
            (Standing::Good, Some(token)) => token,
            (Standing::Expired, _) => return closed("expired"),
            _ => return closed("was revoked"),
        };
        let mut accounts = self.lock();
        accounts.last_ticket += 1;
        let ticket = accounts.last_ticket;
        let Some(limit) = token.max_cost_usd else { return Payment::Reserved(ticket) };
        let known = accounts.by_token.entry(account.to_owned()).or_default();
        let spent = token.spent_usd + known.unwritten;
        match known.judge(spent, limit) {
            Verdict::Pays(amount) => {
                let at_stake = known.largest.unwrap_or(limit * UNKNOWN_PART);
                known.set_aside.insert(ticket, Ticket { amount, at_stake });
                drop(accounts);
                if let Err(error) = self.tokens.stake(account, at_stake) {
                    tracing::error!(%error, token = account, "cannot record what is at stake; the turn will cost nothing if the server is killed");
                }
                Payment::Reserved(ticket)
            }
            Verdict::Waits => Payment::Wait,
            Verdict::Spent => Payment::Refused(format!(
                "the budget of the token `{}` is spent: {} of {}; use a token with a larger one \
                 (`weir token add NAME --max-cost USD`)",
                token.name,
                dollars(spent),
                dollars(limit)
            )),
        }
    }

    fn charge(&self, account: &str, cost_usd: Option<f64>) {
        let known_cost = cost_usd.filter(|cost| cost.is_finite());
        self.spend(account, known_cost.unwrap_or_else(|| self.assumed_cost(account)), 0.0);
    }

    fn settle(&self, account: &str, ticket: u64, cost_usd: Option<f64>) {
        let known_cost = cost_usd.filter(|cost| cost.is_finite());
        let ticket_of = |known: &Account| known.set_aside.get(&ticket).map_or(0.0, |ticket| ticket.at_stake);
        let at_stake = self.lock().by_token.get(account).map_or(0.0, ticket_of);
        // Must come before the reservation is released, or the same money could be spent twice.
        self.spend(account, known_cost.unwrap_or_else(|| self.assumed_cost(account)), at_stake);
        let mut accounts = self.lock();
        let Some(known) = accounts.by_token.get_mut(account) else { return };
        known.set_aside.remove(&ticket);
        if let Some(cost) = known_cost.filter(|cost| *cost > 0.0) {
            known.largest = Some(known.largest.map_or(cost, |largest| largest.max(cost)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::Role;
    use super::super::token::NewToken;
    use super::*;

    fn budgets(limit: f64) -> (tempfile::TempDir, Budgets, String) {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path().join("tokens.json")).unwrap();
        let new = NewToken { max_cost_usd: Some(limit), ..NewToken::new("ci", Role::Driver) };
        let id = tokens.add(new, 1).unwrap().0.id;
        (folder, Budgets::new(tokens), id)
    }

    #[track_caller]
    fn reserved(payment: Payment) -> u64 {
        match payment {
            Payment::Reserved(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_turn_at_a_time_until_a_cost_is_known() {
        let (_folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        assert_eq!(budgets.reserve(&id), Payment::Wait);
        budgets.settle(&id, first, Some(0.125));
        // Now the cost of a turn is known: seven more fit, an eighth does not.
        let more: Vec<u64> = (0..7).map(|_| reserved(budgets.reserve(&id))).collect();
        assert_eq!(budgets.reserve(&id), Payment::Wait);
        for ticket in more {
            budgets.settle(&id, ticket, Some(0.125));
        }
        assert!(matches!(budgets.reserve(&id), Payment::Refused(reason) if reason.contains("`ci`")));
    }

    #[test]
    fn turns_of_more_than_half_the_budget_run_twice() {
        let (_folder, budgets, id) = budgets(1.0);
        let (mut running, mut ran) = (Vec::new(), 0);
        // Start as many turns as allowed, as early as allowed.
        loop {
            match budgets.reserve(&id) {
                Payment::Reserved(ticket) => running.push(ticket),
                Payment::Wait => {
                    budgets.settle(&id, running.remove(0), Some(0.65));
                    ran += 1;
                }
                Payment::Refused(_) | Payment::Closed(_) => break,
            }
            assert!(ran < 20);
        }
        let spent = budgets.tokens.find(&id).unwrap().spent_usd;
        assert!(running.is_empty() && spent <= 1.0 + 0.65, "{spent}");
    }

    #[test]
    fn a_turn_cut_off_by_a_kill_is_charged_at_the_next_start() {
        let (folder, first, id) = budgets(1.0);
        let known = reserved(first.reserve(&id));
        first.settle(&id, known, Some(0.25));
        reserved(first.reserve(&id));
        reserved(first.reserve(&id));
        let again = || Tokens::open(folder.path().join("tokens.json")).unwrap();
        assert_eq!(
            again().find(&id).unwrap().spent_usd,
            0.25,
            "not charged before it is known that they were cut off"
        );
        // Another server on the same file: it will never hear how they ended.
        let second = Budgets::new(again());
        let token = second.tokens.find(&id).unwrap();
        assert_eq!((token.spent_usd, token.at_stake_usd), (0.75, 0.0));
        let third = reserved(second.reserve(&id));
        second.settle(&id, third, Some(0.125));
        let token = again().find(&id).unwrap();
        assert_eq!((token.spent_usd, token.at_stake_usd), (0.875, 0.0));
    }

    #[test]
    fn a_turn_that_never_ran_costs_nothing() {
        let (_folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        budgets.settle(&id, first, Some(0.0));
        reserved(budgets.reserve(&id));
        assert!(budgets.tokens.find(&id).unwrap().spent_usd.abs() < f64::EPSILON);
    }

    #[test]
    fn interrupted_turns_are_charged() {
        let again = budgets(1.0);
        let (_folder, budgets, id) = budgets(1.0);
        let mut turns = 0;
        while let Payment::Reserved(ticket) = budgets.reserve(&id) {
            budgets.settle(&id, ticket, None);
            turns += 1;
            assert!(turns < 30, "runs forever");
        }
        let (_folder, budgets, id) = again;
        let ticket = reserved(budgets.reserve(&id));
        budgets.settle(&id, ticket, Some(0.4));
        let ticket = reserved(budgets.reserve(&id));
        budgets.settle(&id, ticket, None);
        let spent = budgets.tokens.find(&id).unwrap().spent_usd;
        assert!((spent - 0.8).abs() < 1e-9, "{spent}");
    }

    #[test]
    fn a_token_that_is_not_valid_any_more_sends_nothing() {
        let (_folder, budgets, id) = budgets(1.0);
        budgets.tokens.revoke(|token| token.id == id).unwrap();
        assert!(matches!(budgets.reserve(&id), Payment::Closed(reason) if reason.contains("revoked")));
        let expired = NewToken { expires_at: Some(1), ..NewToken::new("old", Role::Driver) };
        let id = budgets.tokens.add(expired, 1).unwrap().0.id;
        assert!(matches!(budgets.reserve(&id), Payment::Closed(reason) if reason.contains("expired")));
    }

    #[test]
    fn while_the_token_file_cannot_be_read_messages_wait() {
        let (folder, budgets, id) = budgets(1.0);
        let (file, aside) = (folder.path().join("tokens.json"), folder.path().join("aside"));
        std::fs::rename(&file, &aside).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(budgets.reserve(&id), Payment::Wait);
        std::fs::remove_dir(&file).unwrap();
        std::fs::rename(&aside, &file).unwrap();
        reserved(budgets.reserve(&id));
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let (_folder, budgets, _) = budgets(1.0);
        let id = budgets.tokens.add(NewToken::new("free", Role::Driver), 1).unwrap().0.id;
        let tickets: Vec<u64> = (0..3).map(|_| reserved(budgets.reserve(&id))).collect();
        for ticket in tickets {
            budgets.settle(&id, ticket, Some(0.5));
        }
        budgets.charge(&id, None);
        let token = budgets.tokens.find(&id).unwrap();
        assert_eq!((token.spent_usd, token.at_stake_usd), (0.0, 0.0));
    }

    #[test]
    fn costs_that_cannot_be_written_still_count() {
        let (folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        // A directory in place of the lock file: nothing can be changed any more.
        let lock = folder.path().join("tokens.lock");
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        budgets.settle(&id, first, Some(2.0));
        assert!(matches!(budgets.reserve(&id), Payment::Refused(_)));
    }
}
