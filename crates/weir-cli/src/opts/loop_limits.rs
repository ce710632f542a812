//! The limits of a run on the command line: a flag for each row of the loop's table that has one.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use weir_loop::limits::{Limit, LimitTable as _, Limits, Unit};

/// The limits that were given, in the order of the table.
#[derive(Debug, Default)]
pub(crate) struct LoopLimitOpts(Vec<(&'static Limit<Limits>, f64)>);

impl LoopLimitOpts {
    /// Changes the limits that were given.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        for (limit, value) in &self.0 {
            limit.set(limits, *value);
        }
    }
}

/// The limits that have a flag.
fn flags() -> impl Iterator<Item = (&'static Limit<Limits>, &'static str)> {
    Limits::ROWS.iter().filter_map(|limit| Some((limit, limit.flag?)))
}

impl FromArgMatches for LoopLimitOpts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = flags().filter_map(|(limit, flag)| Some((limit, *matches.get_one(flag)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LoopLimitOpts {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(|(limit, flag)| {
            let about = limit.about.trim().trim_end_matches('.');
            let help = match limit.unit {
                Unit::Period => about.to_owned(),
                _ => format!("Maximum {} of the run. {about}", limit.name),
            };
            Arg::new(flag)
                .long(flag)
                .value_name(limit.unit.placeholder())
                .value_parser(move |text: &str| limit.unit.parse(text))
                .help_heading("Limits")
                .help(help)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
