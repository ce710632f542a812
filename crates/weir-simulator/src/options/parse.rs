//! Parses words into [`Options`].

use super::flags::{FLAGS, Flag, Takes};
use super::{Format, Options, OptionsError, Resume};
use crate::profile::Profile;

/// Parses the arguments, without the program name.
pub(crate) fn parse(arguments: &[String], profile: &Profile) -> Result<Options, OptionsError> {
    let mut options = Options { persist: true, ..Options::default() };
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            options.prompt = options.prompt.or_else(|| words.next().cloned());
            continue;
        }
        if !word.starts_with('-') || word == "-" {
            options.prompt = options.prompt.or_else(|| Some(word.clone()));
            continue;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let known = FLAGS.iter().find(|flag| flag.names.contains(&name) && !(flag.newer && profile.is_old()));
        let Some(flag) = known else { return Err(OptionsError::Unknown(name.to_owned())) };
        let mut values: Vec<String> = inline.into_iter().collect();
        let is_value = |word: &&&String| !word.starts_with('-') || **word == "-";
        match flag.takes {
            Takes::Nothing => {}
            // A value may begin with a dash, as with commander.
            Takes::One(_) if values.is_empty() => match words.next() {
                Some(value) => values.push(value.clone()),
                None => return Err(OptionsError::Missing(flag.shown())),
            },
            Takes::Optional(_) if values.is_empty() => {
                values.extend(words.next_if(|word| is_value(&word)).cloned());
            }
            Takes::Many(_) => {
                while let Some(value) = words.next_if(|word| is_value(&word)) {
                    values.push(value.clone());
                }
                if values.is_empty() {
                    return Err(OptionsError::Missing(flag.shown()));
                }
            }
            Takes::One(_) | Takes::Optional(_) => {}
        }
        apply(&mut options, flag, values, profile)?;
    }
    check(&options)?;
    Ok(options)
}

fn apply(
    options: &mut Options,
    flag: &Flag,
    values: Vec<String>,
    profile: &Profile,
) -> Result<(), OptionsError> {
    let first = values.first().cloned();
    match flag.name() {
        "--print" => options.print = true,
        "--verbose" => options.verbose = true,
        "--version" => options.version = true,
        "--help" => options.help = true,
        "--include-partial-messages" => options.partial_messages = true,
        "--replay-user-messages" => options.replay_user_messages = true,
        "--include-hook-events" => options.hook_events = true,
        "--await-claim" => options.await_claim = true,
        "--forward-subagent-text" => options.forward_subagent_text = true,
        "--dangerously-skip-permissions" => options.skip_permissions = true,
        "--fork-session" => options.fork = true,
        "--no-session-persistence" => options.persist = false,
        "--continue" => options.resume = Resume::Newest,
        "--resume" => options.resume = Resume::Session(first),
        "--resume-session-at" => options.resume_at = first,
        "--input-format" => options.input = format(flag, first, &["text", "stream-json"])?,
        "--output-format" => options.output = format(flag, first, &["text", "json", "stream-json"])?,
        "--permission-mode" => {
            let modes = profile.permission_modes();
            let given = first.unwrap_or_default();
            if !modes.contains(&given.as_str()) && given != "default" {
                return Err(choice(flag, given, modes));
            }
            options.permission_mode = Some(if given == "manual" { "default".to_owned() } else { given });
        }
        "--permission-prompt-tool" => options.host_permissions = first.as_deref() == Some("stdio"),
        "--allowed-tools" => options.allowed_tools.extend(tool_list(&values)),
        "--disallowed-tools" => options.disallowed_tools.extend(tool_list(&values)),
        "--tools" => options.tools = Some(tool_list(&values)),
        "--model" => options.model = first,
        "--system-prompt" => options.system_prompt = first,
        "--append-system-prompt" => options.append_system_prompt = first,
        "--system-prompt-file" => {
            options.system_prompt = first.and_then(|file| std::fs::read_to_string(file).ok());
        }
        "--append-system-prompt-file" => {
            options.append_system_prompt = first.and_then(|file| std::fs::read_to_string(file).ok());
        }
        "--session-id" => options.session_id = first,
        "--max-turns" => options.max_turns = number(flag, first)?,
        "--max-budget-usd" => options.max_budget_usd = number(flag, first)?,
        "--settings" => options.settings = first,
        "--mcp-config" => options.mcp_config.extend(values),
        "--add-dir" => options.add_dirs.extend(values),
        // The others mean nothing without a model.
        _ => {}
    }
    Ok(())
}

fn check(options: &Options) -> Result<(), OptionsError> {
    if options.version || options.help {
        return Ok(());
    }
    if options.input == Format::StreamJson && options.output != Format::StreamJson {
        return Err(OptionsError::InputNeedsStream);
    }
    if options.print && options.output == Format::StreamJson && !options.verbose {
        return Err(OptionsError::StreamNeedsVerbose);
    }
    if let Some(id) = &options.session_id {
        if uuid::Uuid::parse_str(id).is_err() {
            return Err(OptionsError::CliSessionId);
        }
        if options.resume != Resume::No && !options.fork {
            return Err(OptionsError::SessionIdWithResume);
        }
    }
    Ok(())
}

fn choice(flag: &Flag, value: String, choices: &[&str]) -> OptionsError {
    OptionsError::Choice { flag: flag.shown(), value, choices: choices.join(", ") }
}

fn format(flag: &Flag, value: Option<String>, choices: &[&str]) -> Result<Format, OptionsError> {
    let value = value.unwrap_or_default();
    match value.as_str() {
        _ if !choices.contains(&value.as_str()) => Err(choice(flag, value, choices)),
        "json" => Ok(Format::Json),
        "stream-json" => Ok(Format::StreamJson),
        _ => Ok(Format::Text),
    }
}

fn number<T: std::str::FromStr + PartialOrd + Default>(
    flag: &Flag,
    value: Option<String>,
) -> Result<Option<T>, OptionsError> {
    let value = value.unwrap_or_default();
    match value.parse() {
        Ok(number) if number > T::default() => Ok(Some(number)),
        _ => {
            Err(OptionsError::Value { flag: flag.shown(), value, reason: "It must be a number above zero." })
        }
    }
}

/// Tools separated by commas or spaces. Text in parentheses belongs to its tool: `Bash(git log:*) Edit`.
fn tool_list(values: &[String]) -> Vec<String> {
    let mut tools = Vec::new();
    for value in values {
        let (mut tool, mut depth) = (String::new(), 0_usize);
        for letter in value.chars() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(letter, ',' | ' ') {
                tools.push(std::mem::take(&mut tool));
            } else {
                tool.push(letter);
            }
        }
        tools.push(tool);
    }
    tools.retain(|tool| !tool.is_empty());
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, version: &str) -> Result<Options, String> {
        let words: Vec<_> = line.split('|').map(str::to_owned).filter(|word| !word.is_empty()).collect();
        parse(&words, &Profile::of(version)).map_err(|error| error.to_string())
    }

    fn new(line: &str) -> Result<Options, String> {
        parsed(line, "2.1.325")
    }

    #[test]
    fn lists_take_commas_spaces_and_several_words() {
        let options =
            new("-p|--allowedTools|Bash(git log:*),Edit|Read|--disallowed-tools=Write Glob|prompt").unwrap();
        assert_eq!(options.allowed_tools, ["Bash(git log:*)", "Edit", "Read"]);
        assert_eq!(
            options.disallowed_tools,
            ["Write", "Glob", "prompt"],
            "a list takes everything up to the next flag"
        );
    }

    #[test]
    fn values_follow_a_space_or_an_equals_sign() {
        let options = new("-p|--model=opus|--max-turns|3|--max-budget-usd|0.5|--resume|-v").unwrap();
        assert_eq!((options.model.as_deref(), options.max_turns), (Some("opus"), Some(3)));
        assert_eq!((options.resume, options.version), (Resume::Session(None), true));
    }

    #[test]
    fn errors_are_those_of_the_real_cli() {
        let errors = [
            ("--nonsense", "error: unknown option '--nonsense'"),
            ("-p|--max-turns", "error: option '--max-turns <turns>' argument missing"),
            (
                "--output-format|bad",
                "error: option '--output-format <format>' argument 'bad' is invalid. Allowed choices are text, json, stream-json.",
            ),
            (
                "-p|--output-format|stream-json",
                "Error: When using --print, --output-format=stream-json requires --verbose",
            ),
            (
                "-p|--input-format|stream-json",
                "Error: --input-format=stream-json requires output-format=stream-json.",
            ),
            ("-p|--session-id|abc", "Error: Invalid session ID. Must be a valid UUID."),
        ];
        for (line, error) in errors {
            assert_eq!(new(line).unwrap_err(), error);
        }
        let modes = new("--permission-mode|bad").unwrap_err();
        assert!(
            modes.ends_with(
                "Allowed choices are acceptEdits, auto, bypassPermissions, manual, dontAsk, plan."
            ),
            "{modes}"
        );
    }

    #[test]
    fn the_older_version_does_not_know_the_newer_flags() {
        assert!(new("--include-hook-events").is_ok());
        assert_eq!(
            parsed("--include-hook-events", "2.1.9").unwrap_err(),
            "error: unknown option '--include-hook-events'"
        );
    }
}
