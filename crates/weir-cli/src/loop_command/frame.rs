//! A run at a glance: the task list, current activities, and the limits as bars. Pure.

use std::collections::{BTreeMap, BTreeSet};

use weir_base::money::dollars;
use weir_base::time::duration_text;
use weir_loop::limits::{Amount, Limit, LimitTable as _, Limits};
use weir_loop::report::{blocked, task_words, unchecked_words};
use weir_loop::state::{RunState, Step, TaskRecord, TaskState};
use weir_loop::tasks::TaskId;

use super::lines::open_question;
use crate::screen::{Style, clip, one_line};

/// Current activities: for each task a line of text and its start time.
pub(super) type Activities = BTreeMap<String, (String, i64)>;

/// What to show, and how much room there is.
pub(super) struct Frame<'a> {
    pub(super) run: &'a RunState,
    pub(super) activities: &'a Activities,
    pub(super) now: i64,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) style: Style,
}

impl Frame<'_> {
    /// The lines, from top to bottom.
    pub(super) fn lines(&self) -> Vec<String> {
        let run = self.run;
        let mut foot = self.bars();
        if let Some(wait) = &run.wait {
            let left = u64::try_from(wait.until - self.now).unwrap_or(0);
            foot.push(self.style.careful(&format!(
                "waiting, {} left: {}",
                duration_text(left),
                one_line(&wait.reason, self.width / 2)
            )));
        }
        if let Some(paused) = run.paused.as_ref().filter(|_| run.end().is_none()) {
            let text = format!("paused by {}: no session begins until `weir loop unpause`", paused.by);
            foot.push(self.style.careful(&one_line(&text, self.width)));
        }
        let mut asked = run
            .questions
            .iter()
            .flat_map(|open| open_question(open, self.style).lines().map(str::to_owned).collect::<Vec<_>>());
        // The rest of the screen is for the tasks; questions that do not fit were printed when they were asked.
        let room = (self.height / 2).max(8).saturating_sub(foot.len());
        foot.extend(asked.by_ref().take(room));
        if asked.next().is_some() {
            foot.push(self.style.faint("  … more questions: `weir loop answer` shows them"));
        }
        let head = format!(
            "{} {} · {} of {} done · {} failed",
            self.style.bold("weir loop"),
            run.run_id.get(..8).unwrap_or(&run.run_id),
            run.count(TaskState::Done),
            run.tasks.len(),
            run.count(TaskState::Failed),
        );
        let unchecked = run.tasks.iter().filter(|record| record.is_done_unchecked()).count();
        let head = format!("{head}{}", unchecked_words(unchecked));
        // A third is for events, which scroll by above.
        let room = (self.height * 2 / 3).saturating_sub(foot.len() + 1).max(3);
        let mut lines = vec![head];
        lines.extend(self.tasks(room));
        lines.extend(foot);
        lines
    }

    /// The lines, each clipped to one row of the terminal.
    pub(super) fn rows(&self) -> Vec<String> {
        self.lines().iter().map(|line| clip(line, self.width)).collect()
    }

    /// The tasks that fit: the active ones and their neighbours.
    fn tasks(&self, room: usize) -> Vec<String> {
        let tasks = &self.run.tasks;
        let first_open =
            tasks.iter().position(|task| matches!(task.state, TaskState::Active | TaskState::Pending));
        let anchor = first_open.unwrap_or(tasks.len().saturating_sub(1));
        let room = if tasks.len() > room { room.saturating_sub(2).max(1) } else { room };
        let from = anchor.saturating_sub(room / 3).min(tasks.len().saturating_sub(room));
        let to = (from + room).min(tasks.len());
        let mut lines = Vec::new();
        if from > 0 {
            lines.push(self.style.faint(&format!("  … {from} before")));
        }
        let blocked: BTreeSet<&TaskId> = blocked(self.run).into_keys().collect();
        let shown = tasks.iter().skip(from).take(to - from);
        lines.extend(shown.map(|task| self.task(task, blocked.contains(&task.task.id))));
        if to < tasks.len() {
            lines.push(self.style.faint(&format!("  … {} more", tasks.len() - to)));
        }
        lines
    }

    fn task(&self, record: &TaskRecord, is_blocked: bool) -> String {
        let style = self.style;
        let mark = match record.state {
            TaskState::Done => style.good("✓"),
            TaskState::Failed => style.bad("✗"),
            TaskState::Active => style.accent("▸"),
            TaskState::Skipped => style.faint("-"),
            TaskState::Pending => style.faint("·"),
        };
        let title = one_line(&record.task.title, (self.width / 2).clamp(16, 60));
        let spent = if record.attempts.is_empty() {
            String::new()
        } else {
            format!("  {}  {}", dollars(record.cost_usd()), duration_text(record.took_ms()))
        };
        let room = self.width.saturating_sub(title.chars().count() + spent.chars().count() + 6);
        let note = match record.state {
            TaskState::Active => format!("  {}", one_line(&self.activity(record), room)),
            TaskState::Failed => {
                let reason =
                    record.failure.as_ref().map(|failure| failure.reason.as_str()).unwrap_or_default();
                format!("  {}", one_line(&format!("{}: {reason}", task_words(self.run, record)), room))
            }
            TaskState::Pending if is_blocked => style.faint("  blocked"),
            TaskState::Done if record.is_done_unchecked() => style.careful("  not checked"),
            TaskState::Done | TaskState::Skipped | TaskState::Pending => String::new(),
        };
        format!("  {mark} {title}{}{note}", style.faint(&spent))
    }

    fn activity(&self, record: &TaskRecord) -> String {
        let Some(step) = &record.step else { return String::new() };
        if self.run.end().is_some() {
            return task_words(self.run, record).to_owned();
        }
        if self.run.wait.is_some() && matches!(step, Step::Restoring { .. }) {
            return "waiting".to_owned();
        }
        let number = match step {
            Step::Agent { number, .. } => number,
            Step::GatesBefore { .. } | Step::GatesAfter { .. } => {
                let gate = self.activities.get(record.task.id.as_str());
                return gate
                    .map_or(step.words().to_owned(), |(gate, _)| format!("{} · {gate}", step.words()));
            }
            _ if self.run.paused.is_some() && matches!(step, Step::Restoring { .. }) => {
                return "paused".to_owned();
            }
            _ => return step.words().to_owned(),
        };
        match self.activities.get(record.task.id.as_str()) {
            Some((text, since)) => {
                let time = u64::try_from(self.now - since).unwrap_or(0);
                let time = if time >= 2000 {
                    format!(" ({})", duration_text(time / 1000 * 1000))
                } else {
                    String::new()
                };
                format!("attempt {number} · {text}{time}")
            }
            None => format!("attempt {number}"),
        }
    }

    /// Working time that is not in the state yet. Waiting for a limit or a person does not count as work.
    fn since_written(&self) -> u64 {
        let is_at_work = self.run.end().is_none() && self.run.wait.is_none() && self.run.questions.is_empty();
        // Whole seconds, to avoid flicker.
        let since = u64::try_from(self.now - self.run.updated_at).unwrap_or(0) / 1000 * 1000;
        if is_at_work { since } else { 0 }
    }

    /// The limits of the run as bars.
    fn bars(&self) -> Vec<String> {
        let mut budget = self.run.counted_budget();
        budget.active_ms += self.since_written();
        let bar = |(limit, used, max): (&Limit<Limits>, Amount, Amount)| {
            let part = max.part(used);
            let full = (part * 20.0).round() as usize;
            let drawn = format!("{}{}", "█".repeat(full), "░".repeat(20 - full));
            let drawn = if part >= 0.9 { self.style.bad(&drawn) } else { self.style.good(&drawn) };
            format!("  {:<13}{drawn} {used} of {max}", limit.name)
        };
        self.run.limits.usage(&budget).map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_loop::config::Config;
    use weir_loop::tasks::{Source, TaskList};

    #[test]
    fn frames_fit_the_terminal() {
        let list =
            "- [ ] Add 漢字, which takes two columns for each letter, and never stop writing the title\n";
        let tasks = TaskList::parse(Source::Markdown(list.into())).unwrap().tasks;
        let mut run = RunState::new("0123456789".into(), 0, tasks, &Config::default());
        let asked = weir_loop::state::AskedQuestion {
            question: "Which of these? ".repeat(20),
            options: vec!["One".into(); 9],
            several: false,
        };
        run.questions = (0..5)
            .map(|id| weir_loop::state::OpenQuestion {
                id: id.to_string(),
                task: run.tasks[0].task.id.clone(),
                asked: weir_loop::state::Asked::Questions { questions: vec![asked.clone()] },
                since: 0,
            })
            .collect();
        for (width, height) in [(20, 10), (60, 24), (200, 50)] {
            let activities = Activities::new();
            let frame =
                Frame { run: &run, activities: &activities, now: 1, width, height, style: Style::coloured() };
            let lines = frame.rows();
            assert!(lines.len() < height.max(20), "{width}x{height}: {}", lines.len());
            let wide = |line: &&String| crate::screen::columns(line) > width;
            assert_eq!(lines.iter().find(wide), None, "{width}x{height}");
        }
    }

    #[test]
    fn a_long_list_is_shown_around_the_active_task() {
        let list: String = (0..100).map(|number| format!("- [ ] task {number}\n")).collect();
        let tasks = TaskList::parse(Source::Markdown(list)).unwrap().tasks;
        let mut run = RunState::new("0123456789".into(), 0, tasks, &Config::default());
        for task in &mut run.tasks[..50] {
            task.state = TaskState::Done;
        }
        run.tasks[50].state = TaskState::Active;
        run.tasks[50].step =
            Some(Step::Agent { number: 2, session_id: "s".into(), tree: "t".into(), retried: false });
        let activities = Activities::from([("task-50".to_owned(), ("Bash cargo test".to_owned(), 0))]);
        let frame = Frame {
            run: &run,
            activities: &activities,
            now: 65_000,
            width: 80,
            height: 24,
            style: Style::plain(),
        };
        let lines = frame.lines();
        assert!(lines.len() <= 24, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(
            lines.iter().any(|line| line.contains("▸ task 50  attempt 2 · Bash cargo test (1 min 05 s)")),
            "{lines:#?}"
        );
        assert!(lines[0].contains("50 of 100 done"));
    }
}
