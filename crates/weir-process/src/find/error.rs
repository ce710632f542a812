//! What to say when there is no CLI.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::search::Place;

const HELP: &str = "\
Install it with `npm install -g @anthropic-ai/claude-code`, or set WEIR_CLAUDE to its path.
To try Weir without it, run `weir demo`, which needs no CLI.";

/// Why there is no CLI to start.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindError {
    /// It was named, and is not there. Another one is not taken in its place.
    #[error("{} is not a program that can be run ({}).\n{HELP}", path.display(), match place {
        Place::Variable => "WEIR_CLAUDE names it",
        _ => "it was given as the path of the claude CLI",
    })]
    NotThere {
        /// Who named it.
        place: Place,
        /// What was named.
        path: PathBuf,
    },
    /// It is nowhere.
    #[error("the claude CLI was not found. Looked at:\n{}{HELP}", list(looked))]
    Nowhere {
        /// Where was looked, in order.
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
