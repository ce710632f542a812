//! Texts of `user` lines that are not messages: commands, their output, notifications.

/// What the text of a `user` line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// A message.
    Message,
    /// A command such as `/compact`, as it was typed.
    Command(String),
    /// The output of a command.
    CommandOutput,
    /// A task in the background has ended.
    TaskNotification(TaskNotification<'a>),
    /// The turn was interrupted.
    Interrupted,
}

/// A notification about a task.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TaskNotification<'a> {
    pub(super) task: &'a str,
    pub(super) tool: Option<&'a str>,
    pub(super) status: &'a str,
    pub(super) summary: Option<&'a str>,
}

impl<'a> Said<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.trim_start();
        if text.starts_with("[Request interrupted by user") {
            return Self::Interrupted;
        }
        if text.starts_with("<local-command-stdout>") || text.starts_with("<local-command-stderr>") {
            return Self::CommandOutput;
        }
        if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
            let name = tag(text, "command-name").unwrap_or_default().trim();
            let arguments = tag(text, "command-args").unwrap_or_default().trim();
            return Self::Command(format!("{name} {arguments}").trim().to_owned());
        }
        if text.starts_with("<task-notification>")
            && let (Some(task), Some(status)) = (tag(text, "task-id"), tag(text, "status"))
        {
            let (tool, summary) = (tag(text, "tool-use-id"), tag(text, "summary"));
            return Self::TaskNotification(TaskNotification { task, tool, status, summary });
        }
        Self::Message
    }
}

/// The text between the first `<name>` and `</name>`.
fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::{Said, TaskNotification};

    #[test]
    fn recognises_texts_that_are_not_messages() {
        assert_eq!(Said::of("hello <command-name>/x</command-name>"), Said::Message);
        assert_eq!(Said::of("[Request interrupted by user for tool use]"), Said::Interrupted);
        assert_eq!(Said::of("<local-command-stdout>x</local-command-stdout>"), Said::CommandOutput);
        let command = "<command-name>/model</command-name>\n  <command-message>model</command-message>\n  \
                       <command-args>opus</command-args>";
        assert_eq!(Said::of(command), Said::Command("/model opus".to_owned()));
        assert_eq!(Said::of("<task-notification>broken"), Said::Message);
        let text =
            "<task-notification>\n<task-id>t</task-id>\n<status>completed</status>\n</task-notification>";
        let expected = TaskNotification { task: "t", tool: None, status: "completed", summary: None };
        assert_eq!(Said::of(text), Said::TaskNotification(expected));
    }
}
