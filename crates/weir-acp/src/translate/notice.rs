//! What happens outside the conversation, for editors that show notices.

use agent_client_protocol::v1::schema::{
    CompactionStatus, CompactionUpdate, Notice as EditorNotice, NoticeSeverity, SessionUpdate,
};
use weir_transcript::{EntryId, Notice};

use super::{Features, shown};

/// The update for a notice; none where the editor has no place for it.
pub(super) fn update(entry: EntryId, notice: &Notice, features: Features) -> Option<SessionUpdate> {
    if let Notice::Compaction { .. } = notice {
        let id = format!("compaction-{}", entry.0);
        let update = CompactionUpdate::new(id, CompactionStatus::Completed);
        return features.compaction.then_some(SessionUpdate::CompactionUpdate(update));
    }
    let (severity, title, detail) = words(notice)?;
    let told = EditorNotice::new(severity, title).description(detail.map(|detail| shown(&detail)));
    features.notices.then_some(SessionUpdate::Notice(told))
}

fn words(notice: &Notice) -> Option<(NoticeSeverity, String, Option<String>)> {
    use NoticeSeverity::{Error, Info, Warning};
    Some(match notice {
        Notice::ApiRetry { attempt, status, error, .. } => {
            let why = status.map(|status| status.to_string()).or_else(|| error.clone());
            (Warning, format!("The API failed; attempt {attempt}"), why)
        }
        Notice::RateLimit { status, limit, .. } if status != "allowed" => {
            (Warning, "Rate limit".to_owned(), limit.clone().or_else(|| Some(status.clone())))
        }
        Notice::ModelFallback { to, text, .. } => {
            let to = to.as_deref().unwrap_or("another model");
            (Warning, format!("{to} takes over"), text.clone())
        }
        Notice::Rewound { .. } => {
            (Info, "The conversation was taken back to an earlier message".to_owned(), None)
        }
        Notice::Info { level, text } => {
            let severity = if level.as_deref() == Some("warning") { Warning } else { Info };
            (severity, "Claude Code".to_owned(), Some(text.clone()))
        }
        Notice::Login { text, error } => {
            (Warning, "Login".to_owned(), Some(error.clone().unwrap_or_else(|| text.clone())))
        }
        Notice::ProcessEnded { stderr, .. } => {
            (Error, "The CLI ended".to_owned(), Some(stderr.clone()).filter(|text| !text.trim().is_empty()))
        }
        Notice::Error { message } => (Error, "Error".to_owned(), Some(message.clone())),
        _ => return None,
    })
}
