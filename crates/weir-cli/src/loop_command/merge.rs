//! `weir loop merge`: brings the commits of a run to the person's branch, now that they can decide about conflicts.

use std::io::Write as _;

use weir_loop::shell::{Merged, merge};

use super::Place;
use crate::exit::Exit;

pub(super) fn run(place: Place) -> anyhow::Result<Exit> {
    crate::runtime::block_on(async move { tell(&merge(&place.folders, &place.file.config).await?) })
}

fn tell(merged: &Merged) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    match merged {
        Merged::Nothing => writeln!(out, "Your branch has all commits of the run.")?,
        Merged::Done { printed } => writeln!(out, "{printed}")?,
        Merged::Conflicts { printed } => {
            writeln!(
                out,
                "{printed}\nResolve the conflicts and commit, or give up with `git merge --abort`."
            )?;
            return Ok(Exit::ErrorResult);
        }
    }
    Ok(Exit::Success)
}
