//! Lines and blocks that are not understood become entries too.

use weir_wire::{Body, IdRef, Line, RawJson, Text, ToolUseId, describe};

use super::{Fold, Sink};
use crate::export::plain;
use crate::view::{Change, EntryBody, Notice, UnknownEntry, UnknownReason};

impl Fold {
    pub(super) fn unknown_line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        let mut oddities = self.view.oddities;
        let name =
            |type_name: Option<Text<'_>>, subtype| type_name.map(|_| describe(type_name, subtype).into());
        let (reason, type_name, detail) = match &line.body {
            Body::UnknownType { type_name, subtype, .. } => {
                oddities.unknown_types += 1;
                (UnknownReason::UnknownType, name(*type_name, *subtype), None)
            }
            Body::Mismatch { type_name, subtype, reason, .. } => {
                oddities.mismatches += 1;
                (UnknownReason::Mismatch, name(*type_name, *subtype), Some(reason.clone()))
            }
            Body::NotJson { fault } => {
                oddities.not_json += 1;
                (UnknownReason::NotJson, None, Some(fault.to_string()))
            }
            Body::Oversize { length } => {
                oddities.oversize += 1;
                (UnknownReason::Oversize, None, Some(format!("a line of {length} bytes")))
            }
            Body::Known(_) | Body::Blank => return,
        };
        let bytes = match &line.body {
            Body::Oversize { length } => *length,
            _ => line.raw.len() as u64,
        };
        self.emit(Change::Oddities(oddities), sink);
        if reason == UnknownReason::NotJson
            && let Some(text) = plain_text(line.raw, self.options.unknown_limit)
        {
            self.add_notice(Notice::PlainText { text }, sink);
            return;
        }
        let body = self.unknown(reason, type_name, detail, (line.raw, bytes));
        self.add_entry(self.turns.current(), None, body, sink);
    }

    /// Adds an entry for an unknown part of a line that is otherwise fine.
    pub(super) fn unknown_part(
        &mut self,
        reason: UnknownReason,
        parent: Option<IdRef<'_, ToolUseId>>,
        kind: Option<Text<'_>>,
        detail: Option<String>,
        json: RawJson<'_>,
        sink: &mut Sink<'_>,
    ) {
        let mut oddities = self.view.oddities;
        oddities.blocks += 1;
        self.emit(Change::Oddities(oddities), sink);
        let type_name = kind.or_else(|| json.get("type")?.as_text()).map(|kind| kind.to_str().into());
        let whole = (json.bytes(), json.bytes().len() as u64);
        let body = self.unknown(reason, type_name, detail, whole);
        self.add_entry(self.turn_for(parent), parent.map(|id| id.to_id()), body, sink);
    }

    /// An entry for something unknown: the part to show, and its full size in bytes.
    fn unknown(
        &self,
        reason: UnknownReason,
        type_name: Option<String>,
        detail: Option<String>,
        (shown, bytes): (&[u8], u64),
    ) -> EntryBody {
        let raw = bounded(shown, self.options.unknown_limit);
        EntryBody::Unknown(Box::new(UnknownEntry { reason, type_name, detail, raw, bytes, line: self.lines }))
    }
}

/// The text of a line that is plain text and not a broken line of the protocol.
fn plain_text(line: &[u8], limit: usize) -> Option<String> {
    let text = bounded(line, limit);
    let text = plain(&text);
    let text = text.trim();
    let is_protocol = text.starts_with('{') || text.contains(r#""type":"#);
    (!is_protocol && !text.is_empty()).then(|| text.to_owned())
}

/// The beginning of some bytes as text, cut at a character boundary.
pub(super) fn bounded(bytes: &[u8], limit: usize) -> String {
    let Some(start) = bytes.get(..limit).filter(|start| start.len() < bytes.len()) else {
        return String::from_utf8_lossy(bytes).into_owned();
    };
    let mut text = String::from_utf8_lossy(start).into_owned();
    if text.ends_with(char::REPLACEMENT_CHARACTER) {
        text.pop();
    }
    text
}
