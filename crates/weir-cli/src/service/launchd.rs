//! A property list for launchd.

use std::fmt::Write as _;
use std::path::PathBuf;

use weir_base::html::escape;

use super::definition::Definition;
use super::manager::{Manager, Step};

/// The agent's label.
const LABEL: &str = "dev.weir.serve";

/// launchd, for the user who runs this.
pub(super) fn manager() -> Option<Manager> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    let file = home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
    let path = file.to_string_lossy().into_owned();
    Some(Manager {
        render: property_list,
        // An old one has to be unloaded first, if there is one.
        start: vec![
            Step::new("launchctl", &["unload", &path]).may_fail(),
            Step::new("launchctl", &["load", "-w", &path]),
        ],
        stop: vec![Step::new("launchctl", &["unload", "-w", &path])],
        forget: Vec::new(),
        is_running: Step::new("launchctl", &["list", LABEL]),
        logs: "log show --last 1h --predicate 'process == \"weir\"'",
        note: None,
        file,
    })
}

/// The text of the property list.
pub(super) fn property_list(definition: &Definition) -> String {
    let mut list = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n",
    );
    let _ = writeln!(list, "  <key>Label</key>\n  <string>{LABEL}</string>");
    list.push_str("  <key>ProgramArguments</key>\n  <array>\n");
    for word in std::iter::once(definition.program()).chain(definition.arguments.iter().map(String::as_str)) {
        let _ = writeln!(list, "    <string>{}</string>", escape(word));
    }
    list.push_str("  </array>\n");
    if let Some(path) = &definition.path {
        let _ = writeln!(
            list,
            "  <key>EnvironmentVariables</key>\n  <dict>\n    <key>PATH</key>\n    <string>{}</string>\n  </dict>",
            escape(path)
        );
    }
    list.push_str(
        "  <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>ExitTimeOut</key>\n  <integer>45</integer>\n\
         \x20 <key>Umask</key>\n  <integer>63</integer>\n\
         </dict>\n</plist>\n",
    );
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_runs_the_server() {
        let definition = Definition {
            program: "/opt/weir".into(),
            arguments: vec!["serve".into(), "--root".into(), "/Users/a/R&D <1>".into()],
            path: Some("/usr/bin".into()),
        };
        insta::assert_snapshot!(property_list(&definition));
    }
}
