//! Permission mode, model and effort as what an editor can choose.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};

use weir_host::{Effort, SessionInfo};

use crate::guard::Offer;

/// The mode in which the CLI asks; also what it uses if none was chosen.
pub(crate) const ASKS: &str = "default";

/// The name of the CLI's own default, of the model and of the effort.
pub(crate) const DEFAULT: &str = "default";

/// Ids of the options.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "effort";

/// What is chosen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) mode: String,
    pub(crate) model: String,
    pub(crate) effort: Option<Effort>,
}

impl Chosen {
    /// What a session has; its process may say something else than its settings.
    pub(crate) fn of(info: &SessionInfo) -> Self {
        Self::new(info.permission_mode.as_deref(), info.model.as_deref(), info.effort)
    }

    fn new(mode: Option<&str>, model: Option<&str>, effort: Option<Effort>) -> Self {
        let (mode, model) = (mode.unwrap_or(ASKS).to_owned(), model.unwrap_or(DEFAULT).to_owned());
        Self { mode, model, effort }
    }
}

/// The level with this name; none for the CLI's default.
pub(crate) fn effort(name: &str) -> Result<Option<Effort>, String> {
    let found = Effort::ALL.into_iter().find(|effort| effort.as_str() == name);
    if found.is_none() && name != DEFAULT {
        let known = Effort::ALL.map(Effort::as_str).join(", ");
        return Err(format!("unknown effort {name:?}; the levels are {DEFAULT}, {known}"));
    }
    Ok(found)
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

/// Mode, model and effort as options.
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
    let levels = [None].into_iter().chain(Effort::ALL.map(Some)).map(effort_name);
    let levels = levels.map(|level| SessionConfigSelectOption::new(level.to_owned(), effort_words(level)));
    let level = effort_name(chosen.effort).to_owned();
    let effort = SessionConfigOption::select(EFFORT, "Effort", level, levels.collect::<Vec<_>>());
    vec![
        mode.description("What the agent may do without asking".to_owned())
            .category(SessionConfigOptionCategory::Mode),
        model.description("The model that answers".to_owned()).category(SessionConfigOptionCategory::Model),
        effort
            .description("How thoroughly the model works, from the next prompt on".to_owned())
            .category(SessionConfigOptionCategory::ThoughtLevel),
    ]
}

fn effort_name(effort: Option<Effort>) -> &'static str {
    effort.map_or(DEFAULT, Effort::as_str)
}

fn effort_words(level: &str) -> String {
    if level == Effort::XHigh.as_str() { "Extra high".to_owned() } else { capital(level) }
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
        let state = modes(&offer, &Chosen::new(Some("bypassPermissions"), Some("opus"), None));
        let ids: Vec<&str> = state.available_modes.iter().map(|mode| &*mode.id.0).collect();
        assert_eq!(ids, ["default", "bypassPermissions"]);
        assert_eq!(options(&offer, &Chosen::new(None, None, None)).len(), 3);
    }

    #[test]
    fn an_effort_is_one_of_the_levels_or_the_default() {
        assert_eq!(effort("default"), Ok(None));
        assert_eq!(effort("xhigh"), Ok(Some(Effort::XHigh)));
        assert!(effort("extreme").unwrap_err().contains("low, medium, high, xhigh, max"));
    }
}
