//! What a line means: a message, or a command of ours. No IO.

/// The commands, with what they do.
pub(super) const COMMANDS: [(&str, &str); 8] = [
    ("/model [NAME]", "shows the model and those there are, or uses another one"),
    ("/cost", "what the conversation has cost so far"),
    ("/tools [N]", "the tool calls so far, or call N with all of its output"),
    ("/stop [N or ID]", "lists what runs in the background, or ends one of it"),
    ("/resume [N or ID]", "lists earlier conversations of this folder, or goes on with one"),
    ("/new", "begins a new conversation"),
    ("/help", "this list"),
    ("/quit", "leaves, as Ctrl-D does"),
];

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Nothing.
    Nothing,
    /// Something for the model, or a command of the CLI's own.
    Message(String),
    Model(Option<String>),
    Cost,
    Tools(Option<String>),
    Stop(Option<String>),
    Resume(Option<String>),
    New,
    Help,
    Quit,
    /// A command that nobody knows.
    Unknown(String),
}

impl Command {
    /// Reads a line. `of_the_cli` are the CLI's own commands, without the slash.
    pub(super) fn read(line: &str, of_the_cli: &[String]) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        // Text that is no command can begin with a slash all the same, such as a path.
        let Some(command) = text.strip_prefix('/').filter(|_| !line.starts_with(' ')) else {
            return Self::Message(line.to_owned());
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let argument = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
        match name {
            "model" => Self::Model(argument),
            "cost" => Self::Cost,
            "tools" => Self::Tools(argument),
            "stop" => Self::Stop(argument),
            "resume" => Self::Resume(argument),
            "new" => Self::New,
            "help" | "?" => Self::Help,
            "quit" | "exit" => Self::Quit,
            _ if name.contains('/') || of_the_cli.iter().any(|known| known == name) => {
                Self::Message(line.to_owned())
            }
            _ => Self::Unknown(name.to_owned()),
        }
    }
}

/// Whether more lines belong to this one: it ends with a backslash that is not escaped itself.
pub(super) fn goes_on(text: &str) -> bool {
    let backslashes = text.chars().rev().take_while(|letter| *letter == '\\').count();
    backslashes % 2 == 1
}

/// The lines of an input as one text: a backslash at the end of a line is the line feed after it.
pub(super) fn joined(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut all = text.split('\n').peekable();
    while let Some(line) = all.next() {
        let cut = line.strip_suffix('\\').filter(|_| goes_on(line) && all.peek().is_some());
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
        assert_eq!(read("/compact now"), Command::Message("/compact now".to_owned()));
        assert_eq!(read("/etc/hosts is a file"), Command::Message("/etc/hosts is a file".to_owned()));
        assert_eq!(read(" /cost is text here"), Command::Message(" /cost is text here".to_owned()));
        assert_eq!(read("/cots"), Command::Unknown("cots".to_owned()));
    }

    #[test]
    fn a_backslash_at_the_end_goes_on() {
        assert!(goes_on("a\\") && !goes_on("a\\\\") && !goes_on("a") && !goes_on(""));
        assert_eq!(joined("a\\\nb\\\nc"), "a\nb\nc");
        assert_eq!(joined("a\nb\\"), "a\nb\\");
        assert_eq!(joined("a\\\\\nb"), "a\\\\\nb");
    }
}
