//! Both vocabularies from one set of milestones, for a host whose viewers come and go.

use serde::{Deserialize, Serialize};

use super::{AgentEvent, ClassicEvent, Milestone, Milestones, agent, classic};
use crate::host::HostEvent;
use crate::view::{Change, View};

/// Translates changes into both vocabularies. It always keeps track of what has begun and ended, and builds events only
/// for the sinks that it is given.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Vocabularies {
    milestones: Milestones,
    classic_is_done: bool,
}

/// Where events go; none where no one wants them.
#[derive(Default)]
pub struct VocabularySinks<'s> {
    /// Takes events of the `agent` vocabulary.
    pub agent: Option<&'s mut dyn FnMut(AgentEvent)>,
    /// Takes events of the `classic` vocabulary.
    pub classic: Option<&'s mut dyn FnMut(ClassicEvent)>,
}

impl Vocabularies {
    /// Translates a change. The view is as it is after the change.
    pub fn change(&mut self, view: &View, change: &Change<'_>, sinks: &mut VocabularySinks<'_>) {
        let is_done = &mut self.classic_is_done;
        self.milestones.tell(view, change, &mut |milestone| translate(view, &milestone, is_done, sinks));
    }

    /// Translates what the host did. Call it after the changes that the event made were translated.
    pub fn host(&mut self, view: &View, event: &HostEvent, sinks: &mut VocabularySinks<'_>) {
        let is_done = &mut self.classic_is_done;
        self.milestones.host(event, &mut |milestone| translate(view, &milestone, is_done, sinks));
    }
}

fn translate(view: &View, milestone: &Milestone<'_>, is_done: &mut bool, sinks: &mut VocabularySinks<'_>) {
    if let Some(sink) = &mut sinks.agent
        && let Some(event) = agent::event(view, milestone)
    {
        sink(event);
    }
    let sink: Option<&mut dyn FnMut(ClassicEvent)> = match &mut sinks.classic {
        Some(sink) => Some(&mut **sink),
        None => None,
    };
    classic::translate(view, milestone, is_done, sink);
}

impl std::fmt::Debug for VocabularySinks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VocabularySinks").finish_non_exhaustive()
    }
}
