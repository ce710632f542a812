//! Nests entries: those of a sub-agent are placed inside the call that started it.

use std::collections::HashMap;
use std::sync::Arc;

use weir_wire::ToolUseId;

use crate::view::{Entry, EntryBody, View};

/// Sub-agents that are nested deeper are shown at the top level, with their name.
const MAX_DEPTH: usize = 8;

/// An entry with the entries nested inside it.
#[derive(Debug)]
pub(super) struct Item<'v> {
    pub(super) entry: &'v Entry,
    pub(super) inside: Vec<Item<'v>>,
}

type Groups<'v> = HashMap<Option<&'v ToolUseId>, Vec<&'v Entry>>;

/// All entries, each once. Entries of a sub-agent whose call is missing are placed among those of the main
/// agent.
pub(super) fn outline(view: &View) -> Vec<Item<'_>> {
    let mut groups: Groups<'_> = HashMap::new();
    for entry in view.entries.iter().map(Arc::as_ref) {
        groups.entry(entry.parent.as_ref()).or_default().push(entry);
    }
    let mut items = items_of(None, &mut groups, 0);
    // A remaining agent may contain the calls of others, so the oldest comes first.
    while let Some(parent) =
        groups.iter().min_by_key(|(_, group)| group.first().map(|e| e.id)).map(|(p, _)| *p)
    {
        items.extend(items_of(parent, &mut groups, 0));
    }
    in_reading_order(items)
}

/// The items by number, except that a queued message, which is logged among the entries of the turn before, stands with
/// its reply: at the beginning of its own turn.
fn in_reading_order(mut items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let mut replies = HashMap::new();
    items.sort_by_key(|item| item.entry.id);
    for Item { entry, .. } in &items {
        if let Some(turn) = entry.turn.filter(|_| !is_message(entry)) {
            replies.entry(turn).or_insert(entry.id);
        }
    }
    items.sort_by_key(|Item { entry, .. }| {
        let reply = entry.turn.filter(|_| is_message(entry)).and_then(|turn| replies.get(&turn));
        reply.filter(|reply| **reply > entry.id).map_or((entry.id, true), |reply| (*reply, false))
    });
    items
}

fn is_message(entry: &Entry) -> bool {
    entry.parent.is_none() && matches!(entry.body, EntryBody::User(_))
}

fn items_of<'v>(parent: Option<&'v ToolUseId>, groups: &mut Groups<'v>, depth: usize) -> Vec<Item<'v>> {
    // Removed from the map, so that a call that is its own parent is not followed forever.
    let entries = groups.remove(&parent).unwrap_or_default();
    let mut items = Vec::with_capacity(entries.len());
    for entry in entries {
        let inside = match &entry.body {
            EntryBody::Tool(tool) if depth < MAX_DEPTH => items_of(Some(&tool.id), groups, depth + 1),
            _ => Vec::new(),
        };
        items.push(Item { entry, inside });
    }
    items
}
