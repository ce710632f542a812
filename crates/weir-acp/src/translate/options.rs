//! Permission mode and model as what an editor can choose.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};

use crate::guard::Offer;

/// The mode in which the CLI asks; also what it uses if none was chosen.
pub(crate) const ASKS: &str = "default";

/// The name of the CLI's own default model.
pub(crate) const DEFAULT_MODEL: &str = "default";

/// Ids of the options.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";

/// What is chosen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) mode: String,
    pub(crate) model: String,
}

impl Chosen {
    /// What a session has; its process may say something else than its settings.
    pub(crate) fn new(mode: Option<&str>, model: Option<&str>) -> Self {
        Self { mode: mode.unwrap_or(ASKS).to_owned(), model: model.unwrap_or(DEFAULT_MODEL).to_owned() }
    }
}

/// The offered words, and the chosen one even if it is not offered.
fn with_chosen<'a>(offered: &'a [String], chosen: &'a str) -> Vec<&'a str> {
    let mut words: Vec<&str> = offered.iter().map(String::as_str).collect();
    if !words.contains(&chosen) {
        words.push(chosen);
    }
    words
}

/// The permission modes.
pub(crate) fn modes(offer: &Offer, chosen: &Chosen) -> SessionModeState {
    let modes = with_chosen(&offer.modes, &chosen.mode).into_iter().map(|mode| {
        let (name, about) = mode_words(mode);
        SessionMode::new(mode.to_owned(), name).description(about.map(str::to_owned))
    });
    SessionModeState::new(chosen.mode.clone(), modes.collect())
}

/// Mode and model as options.
pub(crate) fn options(offer: &Offer, chosen: &Chosen) -> Vec<SessionConfigOption> {
    let modes = with_chosen(&offer.modes, &chosen.mode).into_iter().map(|mode| {
        let (name, about) = mode_words(mode);
        SessionConfigSelectOption::new(mode.to_owned(), name).description(about.map(str::to_owned))
    });
    let models = with_chosen(&offer.models, &chosen.model);
    let models =
        models.into_iter().map(|model| SessionConfigSelectOption::new(model.to_owned(), capital(model)));
    let mode =
        SessionConfigOption::select(MODE, "Permissions", chosen.mode.clone(), modes.collect::<Vec<_>>());
    let model = SessionConfigOption::select(MODEL, "Model", chosen.model.clone(), models.collect::<Vec<_>>());
    vec![
        mode.description("What the agent may do without asking".to_owned())
            .category(SessionConfigOptionCategory::Mode),
        model.description("The model that answers".to_owned()).category(SessionConfigOptionCategory::Model),
    ]
}

fn mode_words(mode: &str) -> (String, Option<&'static str>) {
    let (name, about) = match mode {
        "default" => ("Ask", "Asks before edits and commands"),
        "acceptEdits" => ("Accept edits", "Edits files in the folder without asking"),
        "plan" => ("Plan", "Reads and plans, changes nothing"),
        "dontAsk" => ("Don't ask", "Denies whatever is not allowed already"),
        "bypassPermissions" => ("Allow everything", "Runs every tool without asking"),
        other => return (capital(other), None),
    };
    (name.to_owned(), Some(about))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_listed_even_if_it_is_not_offered() {
        let offer =
            Offer { models: vec!["opus".into()], modes: vec!["default".into()], commands: Vec::new() };
        let state = modes(&offer, &Chosen::new(Some("bypassPermissions"), Some("opus")));
        let ids: Vec<&str> = state.available_modes.iter().map(|mode| &*mode.id.0).collect();
        assert_eq!(ids, ["default", "bypassPermissions"]);
        assert_eq!(options(&offer, &Chosen::new(None, None)).len(), 2);
    }
}
