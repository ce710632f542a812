//! What tokens may still spend, for all sessions together, asked when a message is handed to the CLI.
//!
//! What a turn costs is known at its end only. So money is set aside for each turn that runs: as much as the most
//! expensive turn of the token so far. While nothing is known about a token, one of its turns runs at a time. A token
//! therefore exceeds its budget by at most one turn, or by as much as turns that run at the same time cost more than
//! any turn before them.
//!
//! The CLI does not say what a turn cost that was interrupted or cut off. Such a turn is charged like the most expensive
//! one so far: otherwise interrupting every turn would be free. As much is at stake in the file of the tokens while a turn
//! runs, so that it is charged also if the server is killed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_host::{Payment, Purse};

use super::tokens::Tokens;

/// What a turn of unknown cost is charged while no cost of the token is known, as a part of its budget.
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

/// What is known of a token beyond its file.
#[derive(Debug, Default)]
struct Account {
    /// Money that is set aside, by ticket.
    set_aside: HashMap<u64, Ticket>,
    /// The most expensive turn so far.
    largest: Option<f64>,
    /// What was spent and could not be written to the file. It counts all the same.
    unwritten: f64,
}

/// Money for a turn that runs.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    /// What it will cost, as far as anybody knows. None where nothing is known: all that is left.
    amount: Option<f64>,
    /// What it is charged if nobody hears of its end.
    at_stake: f64,
}

/// What to do about one more turn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Set this much aside.
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
    /// The budgets of a server that starts. What turns of a server that was killed had at stake is spent.
    pub(crate) fn new(tokens: Tokens) -> Self {
        if let Err(error) = tokens.lose_stakes() {
            tracing::error!(%error, "what turns cost that a kill has cut off is not counted");
        }
        Self { tokens, accounts: Mutex::default() }
    }

    /// What a turn of unknown cost is charged.
    fn assumed_cost(&self, account: &str) -> f64 {
        let limit = self.tokens.find(account).and_then(|token| token.max_cost_usd);
        let largest = self.lock().by_token.get(account).and_then(|known| known.largest);
        largest.or_else(|| limit.map(|limit| limit * UNKNOWN_PART)).unwrap_or(0.0)
    }

    fn spend(&self, account: &str, cost_usd: f64, staked: f64) {
        let cost_usd = if cost_usd.is_finite() { cost_usd.max(0.0) } else { 0.0 };
        if cost_usd == 0.0 && staked == 0.0 {
            return;
        }
        if let Err(error) = self.tokens.settle(account, cost_usd, staked) {
            tracing::error!(%error, token = account, cost_usd, "a cost is counted in memory only");
            self.lock().by_token.entry(account.to_owned()).or_default().unwritten += cost_usd;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        // No statement under the lock can panic half way.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Purse for Budgets {
    fn reserve(&self, account: &str) -> Payment {
        let Some(token) = self.tokens.find(account) else {
            let reason =
                "the token that would have paid for this message was revoked; send it with another one";
            return Payment::Refused(reason.to_owned());
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
                    tracing::error!(%error, token = account, "a turn that a kill cuts off will cost nothing");
                }
                Payment::Reserved(ticket)
            }
            Verdict::Waits => Payment::Wait,
            Verdict::Spent => Payment::Refused(format!(
                "the budget of the token `{}` is spent: ${spent:.4} of ${limit:.4}; use a token with a larger one \
                 (`weir token add NAME --max-cost USD`)",
                token.name
            )),
        }
    }

    fn charge(&self, account: &str, cost_usd: f64) {
        self.spend(account, cost_usd, 0.0);
    }

    fn settle(&self, account: &str, ticket: u64, cost_usd: Option<f64>) {
        let known_cost = cost_usd.filter(|cost| cost.is_finite());
        let ticket_of = |known: &Account| known.set_aside.get(&ticket).map_or(0.0, |ticket| ticket.at_stake);
        let at_stake = self.lock().by_token.get(account).map_or(0.0, ticket_of);
        // Before the reservation is released, or the same money could be spent twice.
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
    fn one_turn_at_a_time_while_nothing_is_known() {
        let (_folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        assert_eq!(budgets.reserve(&id), Payment::Wait);
        budgets.settle(&id, first, Some(0.125));
        // Now it is known what a turn costs: seven more fit, and no eighth.
        let more: Vec<u64> = (0..7).map(|_| reserved(budgets.reserve(&id))).collect();
        assert_eq!(budgets.reserve(&id), Payment::Wait);
        for ticket in more {
            budgets.settle(&id, ticket, Some(0.125));
        }
        assert!(matches!(budgets.reserve(&id), Payment::Refused(reason) if reason.contains("`ci`")));
    }

    #[test]
    fn twenty_turns_of_more_than_half_the_budget_are_two() {
        let (_folder, budgets, id) = budgets(1.0);
        let (mut running, mut ran) = (Vec::new(), 0);
        // As many as may, as soon as they may.
        loop {
            match budgets.reserve(&id) {
                Payment::Reserved(ticket) => running.push(ticket),
                Payment::Wait => {
                    budgets.settle(&id, running.remove(0), Some(0.65));
                    ran += 1;
                }
                Payment::Refused(_) => break,
            }
            assert!(ran < 20);
        }
        let spent = budgets.tokens.find(&id).unwrap().spent_usd;
        assert!(running.is_empty() && spent <= 1.0 + 0.65, "{spent}");
    }

    #[test]
    fn a_turn_that_a_kill_cuts_off_is_charged_at_the_next_start() {
        let (folder, first, id) = budgets(1.0);
        let known = reserved(first.reserve(&id));
        first.settle(&id, known, Some(0.25));
        reserved(first.reserve(&id));
        reserved(first.reserve(&id));
        let again = || Tokens::open(folder.path().join("tokens.json")).unwrap();
        assert_eq!(
            again().find(&id).unwrap().spent_usd,
            0.25,
            "not before it is known that they are cut off"
        );
        // Another server on the same file: nobody will hear of their end.
        let second = Budgets::new(again());
        let token = second.tokens.find(&id).unwrap();
        assert_eq!((token.spent_usd, token.at_stake_usd), (0.75, 0.0));
        let third = reserved(second.reserve(&id));
        second.settle(&id, third, Some(0.125));
        let token = again().find(&id).unwrap();
        assert_eq!((token.spent_usd, token.at_stake_usd), (0.875, 0.0));
    }

    #[test]
    fn what_never_ran_costs_nothing_and_makes_room() {
        let (_folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        budgets.settle(&id, first, Some(0.0));
        reserved(budgets.reserve(&id));
        assert!(budgets.tokens.find(&id).unwrap().spent_usd.abs() < f64::EPSILON);
    }

    #[test]
    fn who_interrupts_every_turn_pays_all_the_same() {
        let again = budgets(1.0);
        let (_folder, budgets, id) = budgets(1.0);
        let mut turns = 0;
        while let Payment::Reserved(ticket) = budgets.reserve(&id) {
            budgets.settle(&id, ticket, None);
            turns += 1;
            assert!(turns < 30, "for ever");
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
    fn a_revoked_token_pays_for_nothing() {
        let (_folder, budgets, id) = budgets(1.0);
        budgets.tokens.revoke(|token| token.id == id).unwrap();
        assert!(matches!(budgets.reserve(&id), Payment::Refused(reason) if reason.contains("revoked")));
    }

    #[test]
    fn what_cannot_be_written_counts_all_the_same() {
        let (folder, budgets, id) = budgets(1.0);
        let first = reserved(budgets.reserve(&id));
        // A folder in place of the lock: nothing can be changed any more.
        let lock = folder.path().join("tokens.lock");
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        budgets.settle(&id, first, Some(2.0));
        assert!(matches!(budgets.reserve(&id), Payment::Refused(_)));
    }
}
