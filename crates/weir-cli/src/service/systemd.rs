//! A unit for systemd's user service manager.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::definition::Definition;
use super::manager::{Manager, Step};

/// The unit's name.
const UNIT: &str = "weir.service";

/// systemd, for the user who runs this.
pub(super) fn manager() -> Option<Manager> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config =
        config.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(Manager {
        file: config.join("systemd/user").join(UNIT),
        render: unit,
        start: vec![
            Step::new("systemctl", &["--user", "daemon-reload"]),
            Step::new("systemctl", &["--user", "enable", UNIT]),
            Step::new("systemctl", &["--user", "restart", UNIT]),
        ],
        stop: vec![Step::new("systemctl", &["--user", "disable", "--now", UNIT])],
        forget: vec![Step::new("systemctl", &["--user", "daemon-reload"])],
        is_running: Step::new("systemctl", &["--user", "is-active", "--quiet", UNIT]),
        logs: "journalctl --user -u weir",
        note: Some("It stops when you log out, unless `loginctl enable-linger` was run for your account."),
    })
}

/// The text of the unit.
pub(super) fn unit(definition: &Definition) -> String {
    let mut unit = String::from(
        "[Unit]\n\
         Description=Weir, a server for Claude Code sessions\n\
         After=network.target\n\
         \n\
         [Service]\n\
         Type=exec\n",
    );
    if let Some(path) = &definition.path {
        let _ = writeln!(unit, "Environment={}", quoted(&format!("PATH={path}"), Dollars::Plain));
    }
    let words = std::iter::once(definition.program()).chain(definition.arguments.iter().map(String::as_str));
    let words: Vec<String> = words.map(|word| quoted(word, Dollars::Doubled)).collect();
    let _ = writeln!(unit, "ExecStart={}", words.join(" "));
    unit.push_str(
        "WorkingDirectory=%h\n\
         UMask=0077\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         # Weir ends its own processes on SIGTERM. Whatever is left after the time limit is killed.\n\
         KillMode=mixed\n\
         TimeoutStopSec=45\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
    );
    unit
}

/// Whether `$` begins a variable: it does in `ExecStart=` and does not in `Environment=`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dollars {
    Plain,
    Doubled,
}

/// A word in double quotes, in which nothing is expanded.
fn quoted(word: &str, dollars: Dollars) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' => quoted.push_str("%%"),
            '$' if dollars == Dollars::Doubled => quoted.push_str("$$"),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_runs_the_server() {
        let definition = Definition {
            program: "/usr/local/bin/weir".into(),
            arguments: vec!["serve".into(), "--root".into(), "/home/a/my projects".into()],
            path: Some("/usr/local/bin:/usr/bin".into()),
        };
        let unit = unit(&definition);
        assert!(unit.contains("\nEnvironment=\"PATH=/usr/local/bin:/usr/bin\"\n"), "{unit}");
        assert!(
            unit.contains(
                "\nExecStart=\"/usr/local/bin/weir\" \"serve\" \"--root\" \"/home/a/my projects\"\n"
            ),
            "{unit}"
        );
    }

    #[test]
    fn nothing_in_an_argument_is_expanded() {
        assert_eq!(quoted(r#"a"b\c%h$HOME"#, Dollars::Doubled), r#""a\"b\\c%%h$$HOME""#);
        assert_eq!(quoted("$HOME", Dollars::Plain), "\"$HOME\"");
    }
}
