//! Notices of the CLI as plain text.

use weir_transcript::Notice;

/// How the CLI ended after its answer, with its diagnostics, if any.
pub(crate) fn odd_end(notice: &Notice) -> Option<String> {
    let Notice::ProcessEnded { code, signal, stderr } = notice else { return None };
    let how = match (code, signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    let lines: Vec<&str> = stderr.trim().lines().collect();
    let last = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default().join("\n");
    let why = if last.is_empty() { String::new() } else { format!("; it printed:\n{last}") };
    Some(format!("the answer is complete, but then the CLI {how}{why}"))
}

/// The text of a notice that a person should see immediately; `None` for others, such as those repeated in the result.
pub(super) fn text(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::ApiRetry { attempt, max_retries, delay_ms, status, error } => {
            let why = match (status, error) {
                (Some(status), Some(error)) => format!("{status} {error}"),
                (Some(status), None) => status.to_string(),
                (None, Some(error)) => error.clone(),
                (None, None) => "an error".to_owned(),
            };
            let of = max_retries.map(|max| format!(" of {max}")).unwrap_or_default();
            let wait = delay_ms.map(|ms| format!(" in {:.1} s", ms as f64 / 1000.0)).unwrap_or_default();
            format!("the API failed ({why}); retry {attempt}{of}{wait}")
        }
        Notice::RateLimit { status, .. } if status == "allowed" => return None,
        Notice::RateLimit { status, limit, .. } => {
            let which = limit.as_ref().map(|limit| format!(" ({limit})")).unwrap_or_default();
            format!("account limit: {status}{which}")
        }
        Notice::Compaction { .. } => "the session was summarised to make room".to_owned(),
        Notice::Reset { .. } => "the session starts over".to_owned(),
        Notice::Rewound { .. } => "the conversation was taken back to an earlier message".to_owned(),
        Notice::ModelFallback { to, .. } => {
            format!("switched to another model: {}", to.as_deref().unwrap_or("unknown"))
        }
        Notice::CommandOutput { text } | Notice::PlainText { text } => text.clone(),
        Notice::Info { text, level } if level.as_deref() == Some("warning") => text.clone(),
        Notice::Info { text, level } if level.as_deref() == Some("suggestion") => {
            format!("suggested: {text}")
        }
        Notice::Login { error: Some(error), .. } => error.clone(),
        Notice::Error { message } => message.clone(),
        _ => return None,
    })
}
