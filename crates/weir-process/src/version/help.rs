//! Parses the flags in `--help`.

use std::collections::BTreeSet;

/// The long flags that a help text defines. Flags that it only mentions do not count.
///
/// A definition begins after two spaces: `  -r, --resume [value]   …`. Descriptions and their continuation
/// lines are indented further.
pub(super) fn flags(help: &str) -> BTreeSet<String> {
    help.lines().filter_map(definition).flat_map(names).collect()
}

fn definition(line: &str) -> Option<&str> {
    let definition = line.strip_prefix("  ")?;
    definition.starts_with('-').then_some(definition)
}

/// The names in `--allowedTools, --allowed-tools <tools...>  Comma …`: separated by commas, up to the first
/// word that is not a flag or to the description, which begins after two spaces.
fn names(definition: &str) -> impl Iterator<Item = String> {
    let names = definition.split("  ").next().unwrap_or_default();
    names
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .take_while(|word| word.starts_with('-'))
        .filter(|word| word.starts_with("--"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_of_definitions_are_read_but_not_mentions() {
        let help = "\
Usage: claude [options] [command] [prompt]

Options:
  --add-dir <directories...>            Additional directories to allow tool
                                        access to
  --allowedTools, --allowed-tools <tools...>
      Comma or space-separated list, see --tools
  -c, --continue                        Continue the most recent conversation
  --verbose                                         Override verbose mode setting from config
  --bare                                Explicitly provide context via
                                        --system-prompt[-file], --settings
  -p, --print                           --quiet is not a flag

Commands:
  mcp                                   Configure servers (see --mcp-config)
";
        let flags: Vec<String> = flags(help).into_iter().collect();
        let expected = [
            "--add-dir",
            "--allowed-tools",
            "--allowedTools",
            "--bare",
            "--continue",
            "--print",
            "--verbose",
        ];
        assert_eq!(flags, expected);
    }
}
