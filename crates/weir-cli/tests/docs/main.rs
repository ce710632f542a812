//! Every command block of the README and of the book is run, or checked as far as possible without external resources.
//!
//! A block is ```` ```sh ```` (each line is a command) or ```` ```console ```` (lines that begin with `$ ` are). A command runs in a
//! shell, in a small repository with the simulated CLI, and has to succeed, unless `table` says otherwise.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot continue should stop"
)]

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod exists;
mod stage;
mod table;

use blocks::Part;

#[test]
fn the_readme() {
    stage::play("README.md");
}

#[test]
fn installing() {
    stage::play("docs/install.md");
}

#[test]
fn the_commands() {
    stage::play("docs/commands.md");
}

#[test]
fn the_server() {
    stage::play("docs/server.md");
}

#[test]
fn events() {
    stage::play("docs/events.md");
}

#[test]
fn the_store() {
    stage::play("docs/store.md");
}

#[test]
fn the_editors() {
    stage::play("docs/editors.md");
}

#[test]
fn the_loop() {
    stage::play("docs/loop.md");
}

#[test]
fn the_bridge() {
    stage::play("docs/bridge.md");
}

#[test]
fn what_contributors_run() {
    for file in blocks::chapters(Part::Contributors) {
        stage::play(&file);
    }
}

#[test]
fn no_chapter_is_left_out() {
    let played = ["README.md", "docs/install.md", "docs/commands.md", "docs/server.md", "docs/store.md"];
    let played =
        [&played[..], &["docs/loop.md", "docs/bridge.md", "docs/events.md", "docs/editors.md"]].concat();
    for file in blocks::chapters(Part::Users) {
        let has_commands = !blocks::read(&file).is_empty();
        assert_eq!(
            has_commands,
            played.contains(&file.as_str()),
            "{file} needs its own test here, or has no commands"
        );
    }
}

#[test]
fn every_rule_is_needed() {
    let chapters = [blocks::chapters(Part::Users), blocks::chapters(Part::Contributors)].concat();
    let blocks: Vec<_> = chapters.iter().flat_map(|file| blocks::read(file)).collect();
    for rule in table::RULES {
        let mut commands =
            blocks.iter().filter(|block| block.file == rule.file).flat_map(|block| &block.commands);
        assert!(commands.any(|command| rule.matches(command)), "no command needs the rule {rule:?}");
    }
}

/// The library page is compiled by the doc tests of the crate `weir`.
#[test]
fn the_example_of_the_readme_is_compiled() {
    let readme = blocks::text("README.md");
    let library = blocks::text("crates/weir/README.md");
    let example = readme.split("```rust,no_run\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(library.contains(example), "crates/weir/README.md must have this example too:\n{example}");
}
