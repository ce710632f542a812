//! The `PATH` of a login shell.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::brief;
use crate::environment::Environment;

/// Shell profiles may print text of their own; the value is printed between two of these.
const MARKER: &str = "__weir_path__";

const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the user's shell. `None` if there is no shell or it does not answer in time.
pub(super) async fn path() -> Option<OsString> {
    let shell = std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_absolute())?;
    path_of(Path::new(&shell)).await
}

async fn path_of(shell: &Path) -> Option<OsString> {
    let script = format!("printf '\\n%s%s%s\\n' {MARKER} \"$PATH\" {MARKER}");
    let answer = brief::ask(shell, &["-l", "-c", &script], &Environment::inherit(), PATIENCE).await.ok()?;
    extract(&answer.text).map(OsString::from)
}

fn extract(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(MARKER)?;
    rest.split_once(MARKER).map(|(path, _)| path).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_ignored() {
        let text = format!("Welcome!\n{MARKER}/a:/b c{MARKER}\nBye\n");
        assert_eq!(extract(&text), Some("/a:/b c"));
        assert_eq!(extract("Welcome!"), None);
        assert_eq!(extract(&format!("{MARKER}{MARKER}")), None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_shell_answers() {
        let path = path_of(Path::new("/bin/sh")).await.unwrap();
        assert!(path.to_str().unwrap().contains("/bin"));
        assert_eq!(path_of(Path::new("/nowhere/sh")).await, None);
    }
}
