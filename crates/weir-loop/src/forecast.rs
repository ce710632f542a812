//! What the rest of a run will probably cost and take, by what earlier tasks have. Pure.

use weir_base::money::dollars;
use weir_base::time::duration_text;

use crate::limits::Limits;
use crate::state::{RunState, TaskState};

/// A forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Number of open tasks.
    pub open: usize,
    /// Number of earlier tasks that it is made from.
    pub known: usize,
    /// Dollars for all open tasks.
    pub usd: f64,
    /// Time at work for all open tasks, in milliseconds.
    pub ms: u64,
}

/// What this many open tasks will probably cost, by the tasks of these runs that have ended.
pub fn forecast(open: usize, runs: &[RunState]) -> Forecast {
    let (mut known, mut usd, mut ms) = (0_usize, 0.0, 0_u64);
    for run in runs {
        // Tasks that are worked on at the same time share the time of the run.
        let at_a_time = u64::try_from(run.parallel.max(1)).unwrap_or(1);
        for task in &run.tasks {
            let is_over = matches!(task.state, TaskState::Done | TaskState::Failed);
            let is_known = task.attempts.iter().any(|attempt| attempt.cost_usd.is_some());
            if is_over && is_known {
                known += 1;
                usd += task.cost_usd();
                ms += task.active_ms.max(task.took_ms()) / at_a_time;
            }
        }
    }
    let count = known.max(1);
    Forecast { open, known, usd: usd / count as f64 * open as f64, ms: ms / count as u64 * open as u64 }
}

impl Forecast {
    /// In a sentence, next to the limit.
    pub fn words(&self, limits: &Limits) -> String {
        let tasks =
            if self.open == 1 { "1 open task".to_owned() } else { format!("{} open tasks", self.open) };
        if self.known == 0 {
            return format!("forecast: {tasks}; what they cost is not known before the first one has ended");
        }
        let more = if self.usd > limits.cost_usd {
            format!(", more than the limit of {}", dollars(limits.cost_usd))
        } else {
            String::new()
        };
        format!(
            "forecast: {tasks}, about {}{more} and {} at work, by {} earlier tasks",
            dollars(self.usd),
            duration_text(self.ms),
            self.known
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::tasks::{Source, TaskList};

    #[test]
    fn a_forecast_is_the_mean_of_what_tasks_have_cost() {
        assert!(forecast(3, &[]).words(&Limits::default()).contains("not known"));
        let tasks = TaskList::parse(Source::Markdown("- [ ] a\n- [ ] b\n- [ ] c\n".into())).unwrap().tasks;
        let mut run = RunState::new("r".into(), 0, tasks, &Config::default());
        for (place, usd) in [(0, 0.5), (1, 1.5)] {
            let attempt = crate::report::tests_attempt(usd, 60_000);
            run.tasks[place].attempts = vec![attempt];
            run.tasks[place].state = TaskState::Done;
        }
        let found = forecast(20, &[run]);
        assert_eq!((found.known, found.usd, found.ms), (2, 20.0, 1_200_000));
        let words = found.words(&Limits::default());
        assert!(
            words.contains("$20.00, more than the limit of $10.00") && words.contains("20 min"),
            "{words}"
        );
    }
}
