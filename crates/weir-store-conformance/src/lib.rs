//! The one conformance suite for [`weir_store::Log`]: memory, SQLite and JetStream pass the same cases.
//!
//! A case is a function that talks to a log and panics where the log is wrong. It makes sessions of its own with random
//! ids, so all cases can share a log, also at the same time, and a log that is in use.

mod fencing;
mod leases;
mod logs;
mod parts;
mod support;
mod tails;

use weir_store::{Log, StoreError};

/// A case of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// Tries it on a log. It blocks, so do not call it in a task.
    pub run: fn(&dyn Log) -> Outcome,
}

/// How a case went: an error where the log refused what it must do. What it does wrongly is a panic.
pub type Outcome = Result<(), StoreError>;

macro_rules! cases {
    ($($module:ident { $($name:ident),+ $(,)? })+) => {
        &[$($(Case { name: stringify!($name), run: $module::$name }),+),+]
    };
}

/// All cases.
pub const CASES: &[Case] = cases! {
    logs {
        a_session_is_created_once,
        events_are_numbered_without_gaps,
        an_event_is_as_it_was_given,
        a_client_id_is_stored_once,
        an_append_is_stored_whole_or_not_at_all,
        pages_are_bounded_and_work_in_both_directions,
        events_are_found_by_label,
        large_events_are_kept_whole,
        appends_are_done_in_order,
        a_dropped_reply_cancels_nothing,
        nothing_is_left_of_a_deleted_session,
    }
    fencing {
        a_second_writer_is_kept_out,
        a_replaced_writer_is_fenced,
        a_claim_without_events_fences,
        a_writer_is_replaced_while_it_writes,
    }
    tails {
        a_tail_knows_the_end_from_the_start,
        a_reader_is_woken,
        readers_that_start_at_any_time_see_each_event_once,
        a_reader_learns_of_a_deletion,
        all_sessions_are_followed,
        listeners_are_woken,
    }
    leases {
        a_lease_has_one_holder,
        a_lease_that_was_given_back_is_free,
        a_lease_ends_by_itself,
        a_lease_is_prolonged,
    }
    parts {
        the_newest_matching_checkpoint_is_found,
        a_checkpoint_may_be_large,
        blobs_are_kept_and_replaced,
        parts_are_deleted_with_their_session,
    }
};
