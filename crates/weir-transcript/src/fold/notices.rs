//! Notices: hooks, retries, compaction, messages from the CLI.

use std::sync::Arc;

use weir_wire::{HookMessage, MessageId, SessionWritesLostMessage, SystemMessage, Text};

use super::{Fold, Sink};
use crate::view::{Change, Entry, EntryBody, HookRun, Notice, Session};

fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(|text| text.to_str().into_owned())
}

/// What the CLI could not store, for people.
fn writes_lost(lost: &SessionWritesLostMessage<'_>) -> String {
    let names: Vec<_> = lost.lost.iter().map(Text::to_str).collect();
    let is_lost = |name: &str| names.iter().any(|known| known == name);
    let reason = match lost.error_code.map(|code| code.to_str()).as_deref() {
        Some("ENOSPC") => "the disk is full".to_owned(),
        Some("EDQUOT") => "the disk quota is used up".to_owned(),
        Some(other) => other.to_owned(),
        None => "the reason is unknown".to_owned(),
    };
    let consequence = match (is_lost("transcript"), is_lost("global_config")) {
        (false, true) => "changes of the CLI's configuration are lost",
        (true, true) => {
            "a resumed session may miss messages, and changes of the CLI's configuration are lost"
        }
        _ => "a resumed session may miss messages",
    };
    format!("The CLI could not store everything ({reason}): {consequence}.")
}

impl Fold {
    pub(super) fn hook(&mut self, hook: &HookMessage<'_>, sink: &mut Sink<'_>) {
        let id = hook.hook_id.to_str();
        let known = self.hooks.get(&*id).and_then(|entry| self.view.entry(*entry));
        let mut run = match known.map(|entry| &entry.body) {
            Some(EntryBody::Hook(run)) => run.clone(),
            _ => Box::new(HookRun {
                id: id.clone().into_owned(),
                name: String::new(),
                event: String::new(),
                outcome: None,
                exit_code: None,
                output: String::new(),
            }),
        };
        run.name = owned(hook.hook_name).unwrap_or(run.name);
        run.event = owned(hook.hook_event).unwrap_or(run.event);
        run.outcome = owned(hook.outcome).or(run.outcome);
        run.exit_code = hook.exit_code.or(run.exit_code);
        if let Some(output) = hook.output {
            run.output = output.head(self.options.output_limit).to_str().into_owned();
        }
        match known.cloned() {
            Some(mut entry) => {
                entry.body = EntryBody::Hook(run);
                self.emit(Change::EntryReplaced(Arc::new(entry)), sink);
            }
            None => {
                let entry = self.add_entry(self.turns.current(), None, EntryBody::Hook(run), sink);
                self.hooks.insert(id.into_owned(), entry);
            }
        }
    }

    pub(super) fn system_notice(&mut self, message: &SystemMessage<'_>, sink: &mut Sink<'_>) {
        let notice = match message {
            SystemMessage::ApiRetry(retry) => {
                let notice = Notice::ApiRetry {
                    attempt: retry.attempt,
                    max_retries: retry.max_retries,
                    delay_ms: retry.retry_delay_ms,
                    status: retry.error_status,
                    error: owned(retry.error),
                };
                if self.merge_retry(&notice, sink) {
                    return;
                }
                notice
            }
            SystemMessage::CompactBoundary(boundary) => {
                let metadata = boundary.compact_metadata.as_ref();
                Notice::Compaction {
                    trigger: owned(metadata.and_then(|m| m.trigger)),
                    pre_tokens: metadata.and_then(|m| m.pre_tokens),
                    post_tokens: metadata.and_then(|m| m.post_tokens),
                }
            }
            SystemMessage::LocalCommandOutput(output) => {
                Notice::CommandOutput { text: output.content.to_str().into() }
            }
            SystemMessage::Informational(info) => {
                Notice::Info { level: owned(info.level), text: info.content.to_str().into() }
            }
            SystemMessage::Notification(notification) => {
                Notice::Info { level: owned(notification.priority), text: notification.text.to_str().into() }
            }
            SystemMessage::ModelRefusalFallback(fallback) => Notice::ModelFallback {
                from: owned(fallback.original_model),
                to: owned(fallback.fallback_model),
                text: owned(fallback.content),
            },
            SystemMessage::ModelRefusalNoFallback(refusal) => Notice::Info {
                level: Some("warning".into()),
                text: owned(refusal.content)
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| "The model refused.".into()),
            },
            SystemMessage::SessionWritesLost(lost) => {
                Notice::Info { level: Some("warning".into()), text: writes_lost(lost) }
            }
            SystemMessage::MirrorError(failed) => Notice::Info {
                level: Some("warning".into()),
                text: format!(
                    "A copy of the session's transcript could not be written: {}",
                    failed.error.to_str()
                ),
            },
            SystemMessage::CodeChangePublished(published) => Notice::Info {
                level: Some("info".into()),
                text: format!("Published for review: {}", published.url.to_str()),
            },
            // The rest changes nothing that a reader of the session would see.
            _ => return,
        };
        self.add_notice(notice, sink);
    }

    /// The model no longer knows this message and what came after it.
    pub(super) fn rewound(&mut self, message: &MessageId, is_first: bool, sink: &mut Sink<'_>) {
        let is_it = |entry: &&Arc<Entry>| matches!(&entry.body, EntryBody::User(user) if user.message.as_ref() == Some(message));
        let entry = self.view.entries.iter().rev().find(is_it).map(|entry| entry.id);
        // A process that begins at an earlier point has a session of its own.
        self.reset = true;
        if is_first {
            // Nothing is left that a process could resume.
            let session = Session { id: None, ..self.view.session.clone() };
            self.set_session(session, sink);
        }
        self.add_notice(Notice::Rewound { message: message.clone(), entry }, sink);
    }

    /// Merges a retry into the last entry if that is a retry too.
    fn merge_retry(&mut self, notice: &Notice, sink: &mut Sink<'_>) -> bool {
        let Some(last) = self.view.entries.last() else {
            return false;
        };
        if !matches!(&last.body, EntryBody::Notice { notice: Notice::ApiRetry { .. } }) {
            return false;
        }
        let mut entry = Entry::clone(last);
        entry.body = EntryBody::Notice { notice: notice.clone() };
        self.emit(Change::EntryReplaced(Arc::new(entry)), sink);
        true
    }
}
