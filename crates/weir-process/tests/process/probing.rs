//! Querying a CLI for its version and flags.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use weir_process::{Environment, ProbeCache, ProbeError, Version};

use crate::support::soon;

/// A CLI that counts how often it is started.
fn fake_cli(folder: &Path, version: &str) -> PathBuf {
    let file = folder.join("claude");
    let script = format!(
        "#!/bin/sh\necho x >> {}/starts\ncase $1 in\n--version) echo '{version}';;\n\
         --help) printf 'Options:\\n  -p, --print   Print\\n  --brand-new   x\\n';;\nesac\n",
        folder.display()
    );
    // Written under another name and moved, so that it is never open for writing while it is started.
    let fresh = folder.join("fresh");
    std::fs::write(&fresh, script).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(fresh, &file).unwrap();
    file
}

fn starts(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_cli_is_probed_once_and_again_when_it_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let cli = fake_cli(folder.path(), "2.1.61 (Claude Code)");
    let file = folder.path().join("cache/probes.json");
    let environment = Environment::inherit();
    let cache = ProbeCache::in_file(&file);
    for _ in 0..3 {
        let capabilities = soon(cache.probe(&cli, &environment)).await.unwrap();
        assert_eq!(capabilities.version(), Version::new(2, 1, 61));
        assert!(capabilities.has_flag("--brand-new") && capabilities.has_flag("--max-turns"));
        assert!(!capabilities.has_flag("--agents"));
    }
    assert_eq!(starts(folder.path()), 2);

    // Another run of the program reads the file.
    let again = ProbeCache::in_file(&file);
    assert!(soon(again.probe(&cli, &environment)).await.unwrap().has_flag("--brand-new"));
    assert_eq!(starts(folder.path()), 2);

    fake_cli(folder.path(), "2.1.325 (Claude Code), updated");
    let capabilities = soon(again.probe(&cli, &environment)).await.unwrap();
    assert_eq!(capabilities.version(), Version::new(2, 1, 325));
    assert_eq!(starts(folder.path()), 4);
}

#[tokio::test]
async fn a_program_that_is_not_claude_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let cli = fake_cli(folder.path(), "something else");
    let cache = ProbeCache::in_memory();
    let error = soon(cache.probe(&cli, &Environment::inherit())).await.unwrap_err();
    assert!(error.to_string().contains("something else"), "{error}");
    let missing = soon(cache.probe(Path::new("/nowhere/claude"), &Environment::inherit())).await.unwrap_err();
    assert!(matches!(missing, ProbeError::File { .. }), "{missing}");
}

#[tokio::test]
async fn the_explicit_path_is_found_on_the_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let cli = fake_cli(folder.path(), "1.0.0");
    let found = soon(weir_process::find(Some(&cli))).await.unwrap();
    assert_eq!((found.path, found.place), (cli, weir_process::Place::Explicit));
    std::fs::set_permissions(found_path(folder.path()), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(soon(weir_process::find(Some(&found_path(folder.path())))).await.is_err());
}

fn found_path(folder: &Path) -> PathBuf {
    folder.join("claude")
}
