//! Errors for a CLI that cannot be found.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::search::Place;

const HELP: &str = "\
Install it with `npm install -g @anthropic-ai/claude-code`, or set WEIR_CLAUDE to its path.
To try Weir without it, run `weir demo`, which needs no CLI.";

/// Why no CLI was found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindError {
    /// A program was named explicitly but does not exist. No other program is used instead.
    #[error("{} is not a program that can be run ({}).\n{HELP}", path.display(), match place {
        Place::Variable => "WEIR_CLAUDE names it",
        _ => "it was given as the path of the claude CLI",
    })]
    NotThere {
        /// How it was named.
        place: Place,
        /// The path or name given.
        path: PathBuf,
    },
    /// The CLI was not found anywhere.
    #[error("the claude CLI was not found. Looked at:\n{}{HELP}", list(looked))]
    Nowhere {
        /// Paths that were tried, in order.
        looked: Vec<(Place, PathBuf)>,
    },
}

fn list(looked: &[(Place, PathBuf)]) -> String {
    let mut text = String::new();
    for (place, path) in looked {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {} ({place})", path.display());
    }
    text
}
