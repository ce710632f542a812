//! Parses a line: a message, or one of our commands. No IO.

/// The commands and their descriptions.
pub(super) const COMMANDS: [(&str, &str); 10] = [
    ("/model [NAME]", "shows the current and available models, or switches to another one"),
    ("/attach FILE|URL", "sends a picture or PDF with the next message"),
    ("/note TEXT", "tells the model something without asking for an answer"),
    ("/cost", "shows the cost of the session so far"),
    ("/tools [N]", "lists the tool calls so far, or shows call N with all of its output"),
    ("/stop [N or ID]", "lists background tasks, or stops one"),
    ("/resume [N or ID]", "lists earlier sessions of this folder, or resumes one"),
    ("/new", "starts a new session"),
    ("/help", "shows this list"),
    ("/quit", "quits, like Ctrl-D"),
];

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Nothing,
    /// A message for the model, or one of the CLI's own commands.
    Message(String),
    Model(Option<String>),
    /// A picture or a document for the next message.
    Attach(Option<String>),
    /// A text that gets no answer.
    Note(Option<String>),
    Cost,
    Tools(Option<String>),
    Stop(Option<String>),
    Resume(Option<String>),
    New,
    Help,
    Quit,
    /// An unknown command.
    Unknown(String),
}

impl Command {
    /// Parses a line. `cli_commands` are the CLI's own commands, without the slash.
    pub(super) fn read(line: &str, cli_commands: &[String]) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        // Other text can begin with a slash too, such as a path.
        let Some(command) = text.strip_prefix('/').filter(|_| !line.starts_with(' ')) else {
            return Self::Message(line.to_owned());
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let argument = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
        match name {
            "model" => Self::Model(argument),
            "attach" => Self::Attach(argument),
            "note" => Self::Note(argument),
            "cost" => Self::Cost,
            "tools" => Self::Tools(argument),
            "stop" => Self::Stop(argument),
            "resume" => Self::Resume(argument),
            "new" => Self::New,
            "help" | "?" => Self::Help,
            "quit" | "exit" => Self::Quit,
            _ if name.contains('/') || cli_commands.iter().any(|known| known == name) => {
                Self::Message(line.to_owned())
            }
            _ => Self::Unknown(name.to_owned()),
        }
    }
}

/// Whether the line is continued: it ends with a backslash that is not itself escaped.
pub(super) fn is_continued(text: &str) -> bool {
    let backslashes = text.chars().rev().take_while(|letter| *letter == '\\').count();
    backslashes % 2 == 1
}

/// Joins continued lines into one text: a backslash before a line feed is dropped.
pub(super) fn joined(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut all = text.split('\n').peekable();
    while let Some(line) = all.next() {
        let cut = line.strip_suffix('\\').filter(|_| is_continued(line) && all.peek().is_some());
        lines.push(cut.unwrap_or(line));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Command {
        Command::read(line, &["compact".to_owned()])
    }

    #[test]
    fn lines() {
        assert_eq!(read("  "), Command::Nothing);
        assert_eq!(read("hello"), Command::Message("hello".to_owned()));
        assert_eq!(read("/model  opus "), Command::Model(Some("opus".to_owned())));
        assert_eq!(read("/model"), Command::Model(None));
        assert_eq!(read("/stop 2"), Command::Stop(Some("2".to_owned())));
        assert_eq!(read("/resume 3"), Command::Resume(Some("3".to_owned())));
        assert_eq!(read("/exit"), Command::Quit);
        assert_eq!(read("/attach a b.png"), Command::Attach(Some("a b.png".to_owned())));
        assert_eq!(read("/note"), Command::Note(None));
        assert_eq!(read("/compact now"), Command::Message("/compact now".to_owned()));
        assert_eq!(read("/etc/hosts is a file"), Command::Message("/etc/hosts is a file".to_owned()));
        assert_eq!(read(" /cost is text here"), Command::Message(" /cost is text here".to_owned()));
        assert_eq!(read("/cots"), Command::Unknown("cots".to_owned()));
    }

    #[test]
    fn a_backslash_at_the_end_continues_the_line() {
        assert!(is_continued("a\\") && !is_continued("a\\\\") && !is_continued("a") && !is_continued(""));
        assert_eq!(joined("a\\\nb\\\nc"), "a\nb\nc");
        assert_eq!(joined("a\nb\\"), "a\nb\\");
        assert_eq!(joined("a\\\\\nb"), "a\\\\\nb");
    }
}
