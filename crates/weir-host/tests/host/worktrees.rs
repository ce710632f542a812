//! Sessions in worktrees of their own, on the simulated CLI.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_host::{Host, HostError, NewSession, NewWorktree, SessionStatus};
use weir_testkit::{begin_repository, git};
use weir_trust::{Standing, TrustFile};

use crate::place::{Place, ask, id_of, me, script, send, soon, status};

/// A repository with a hook, which runs only if a person has trusted it.
fn project(place: &Place) {
    let folder = place.directory();
    std::fs::create_dir_all(folder.join(".claude")).unwrap();
    let settings = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    std::fs::write(folder.join(".claude/settings.json"), settings).unwrap();
    begin_repository(&folder);
}

fn in_worktree(place: &Place, branch: &str) -> NewSession {
    let worktree = NewWorktree { branch: Some(branch.to_owned()), from: None };
    NewSession { worktree: Some(worktree), ..NewSession::new(place.work()) }
}

#[tokio::test]
async fn two_sessions_work_next_to_each_other_and_a_busy_one_keeps_its_folder() {
    let place = Place::new();
    project(&place);
    let host = place.host().await;
    let mut folders = Vec::new();
    for branch in ["one", "two"] {
        let mut new = in_worktree(&place, branch);
        new.spec.allowed_tools = vec!["Bash".to_owned()];
        let info = soon(host.create(new, &me())).await.unwrap().session;
        let steps =
            json!([{"tool": "Bash", "input": {"command": format!("pwd > {branch}")}}, {"text": "ok"}]);
        assert_eq!(ask(&host, &id_of(&info), script(&steps)).await, "ok");
        let made = std::fs::read_to_string(Path::new(&info.cwd).join(branch)).unwrap();
        assert_eq!(made.trim_end(), info.cwd);
        folders.push(info.cwd);
    }
    assert_ne!(folders[0], folders[1]);
    let listed = soon(host.worktrees(&place.work())).await.unwrap();
    assert_eq!(listed.iter().filter(|one| one.is_own && one.sessions.len() == 1).count(), 2);

    // A session that has nothing to do gives its process up; one at work keeps its folder.
    let busy = listed.iter().find(|one| one.branch.as_deref() == Some("one")).unwrap();
    let id = busy.sessions[0].parse().unwrap();
    send(&host, &id, script(&json!([{"text": "one two three", "wdelay": 3600}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let refused = soon(host.remove_worktree(&busy.path, true, false)).await.unwrap_err();
    assert!(matches!(refused, HostError::FolderInUse { .. }), "{refused}");
    soon(host.stop(&id, &me())).await.unwrap();
    for folder in &folders {
        let uncommitted = soon(host.remove_worktree(folder, false, true)).await.unwrap_err();
        assert_eq!(uncommitted.code(), "uncommitted_changes");
        let removed = soon(host.remove_worktree(folder, true, true)).await.unwrap();
        assert!(removed.kept.is_some() && removed.branch_deleted && !Path::new(folder).exists());
    }
    assert_eq!(git(&place.directory(), &["branch", "--list", "one", "two"]), "");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_worktree_is_as_trusted_as_what_it_was_made_of() {
    let place = Place::new();
    project(&place);
    let file = Arc::new(TrustFile::new(place.path("trust.json")));
    let mut options = place.options();
    options.trust = Some(Arc::clone(&file));
    let host = Host::open(options).await.unwrap();
    let new = |branch: &str| NewWorktree { branch: Some(branch.to_owned()), from: None };
    let before = soon(host.add_worktree(&place.work(), new("before"))).await.unwrap();
    assert_eq!(host.folder(&before.path).await.unwrap().standing, Standing::New);
    let seen = host.folder(&place.work()).await.unwrap();
    host.trust_folder(&place.work(), &seen.seal(), &me()).await.unwrap();
    let after = soon(host.add_worktree(&place.work(), new("after"))).await.unwrap();
    assert_eq!(host.folder(&after.path).await.unwrap().standing, Standing::Trusted);
    // Other files are not what was trusted.
    std::fs::write(Path::new(&after.path).join(".mcp.json"), r#"{"mcpServers":{"x":{"command":"x"}}}"#)
        .unwrap();
    assert_eq!(host.folder(&after.path).await.unwrap().standing, Standing::Changed);
    soon(host.remove_worktree(&after.path, true, true)).await.unwrap();
    let again = soon(host.add_worktree(&place.work(), new("again"))).await.unwrap();
    assert_ne!(again.path, after.path);
    assert!(!file.list().unwrap().iter().any(|(folder, _)| folder.to_string_lossy() == after.path));
    soon(host.shut_down(Duration::ZERO)).await;
}
