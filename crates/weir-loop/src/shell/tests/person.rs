//! What a person wants of a run is not lost with the run.

use super::place::Place;
use super::player::{Said, Script};
use crate::shell::{Mail, Mailbox};
use crate::state::{TaskState, load};
use crate::tasks::TaskId;

#[test]
fn a_mail_is_not_lost_whenever_the_run_is_killed() {
    let script: Script = |task, folder| {
        std::fs::write(folder.join(task), "").unwrap();
        Said::Answer("Done.")
    };
    for after in 1.. {
        let place = Place::new("- [ ] One\n- [ ] Two\n", "[loop]\nparallel = 1\n", script);
        place.folders().create().unwrap();
        let mail = Mail::Skip { task: TaskId::new("two") };
        Mailbox::new(place.folders().mailbox()).send(&mail).unwrap();
        let killed = place.run_until_killed(after);
        if !place.is_over() {
            place.finish();
        }
        let run = load(&place.folders().run_file()).unwrap().unwrap();
        let two = run.task(&TaskId::new("two")).unwrap();
        assert_eq!(two.state, TaskState::Skipped, "killed after {after} things: {killed:?}");
        if killed.is_none() {
            return;
        }
    }
}
