//! The loop in a sandbox: sessions, git and gates see only the workspace.

use crate::common::Place;
use crate::repository::{commits, git, repository, task, weir_loop};

/// Runs a session that tries to get out, and checks the result.
fn fenced(parallel: &str) {
    let place = Place::new();
    let (secret, read, write) = (place.path("secret.txt"), place.path("read"), place.path("write"));
    std::fs::write(&secret, "hidden\n").unwrap();
    for folder in [&read, &write] {
        std::fs::create_dir(folder).unwrap();
    }
    std::fs::write(read.join("given.txt"), "given\n").unwrap();
    let command = format!(
        "cat {} > stolen.txt; cat {1}/given.txt > copy.txt; echo x > {1}/no.txt; echo yes > {2}/out.txt; git log -1 --format=%s > log.txt; echo x > {3}/elsewhere.txt; true",
        secret.display(),
        read.display(),
        write.display(),
        place.path(".").display(),
    );
    let gate = format!(
        "[[loop.gates]]\nname = \"fence\"\ncommand = [\"sh\", \"-c\", \"test -e weir.toml && test ! -e {}\"]\n",
        secret.display()
    );
    repository(&place, &task("Look around", &command), &gate);
    let (read, write) = (read.display().to_string(), write.display().to_string());
    let mut args = vec!["run", "--sandbox", "--sandbox-read", &read, "--sandbox-write", &write];
    if !parallel.is_empty() {
        args.extend(["--parallel", parallel]);
    }
    weir_loop(&place, &args).expect(0);
    assert_eq!(commits(&place), ["Look around"]);
    let shown = |name: &str| git(&place, &["show", &format!("HEAD:{name}")]);
    assert_eq!(
        (shown("stolen.txt"), shown("copy.txt"), shown("log.txt")),
        (String::new(), "given\n".into(), "Begin\n".into())
    );
    assert_eq!(std::fs::read_to_string(place.path("write/out.txt")).unwrap(), "yes\n");
    assert!(!place.path("read/no.txt").exists() && !place.path("elsewhere.txt").exists());
    assert_eq!(git(&place, &["status", "--porcelain"]), "");
}

#[test]
fn tasks_gates_and_git_run_in_the_sandbox() {
    fenced("");
}

#[test]
fn worktrees_are_writable_in_the_sandbox() {
    fenced("2");
}

#[test]
fn a_workspace_with_its_repository_elsewhere_can_commit() {
    let place = Place::new();
    repository(&place, &task("One", "echo 1 > one.txt; git status --short > status.txt"), "");
    let elsewhere = place.path("elsewhere");
    git(&place, &["worktree", "add", "-q", &elsewhere.display().to_string()]);
    let folder = elsewhere.display().to_string();
    weir_loop(&place, &["run", "--sandbox", "--cwd", &folder]).expect(0);
    assert_eq!(git(&place, &["log", "-1", "--format=%s", "elsewhere"]), "One\n");
    assert_eq!(git(&place, &["show", "elsewhere:status.txt"]), "?? one.txt\n?? status.txt\n");
}

#[test]
fn git_configuration_written_by_a_session_does_not_run_outside() {
    let place = Place::new();
    let ran = place.path("ran.txt");
    let filter = format!(
        "git config filter.x.clean 'touch {}; cat'; echo '*.txt filter=x' > .gitattributes; echo 1 > one.txt",
        ran.display()
    );
    repository(&place, &task("One", &filter), "");
    weir_loop(&place, &["run", "--sandbox"]).expect(0);
    assert_eq!(commits(&place), ["One"]);
    assert!(!ran.exists(), "a program chosen by a session ran outside of the sandbox");
}

#[test]
fn the_planner_runs_in_the_sandbox_too() {
    let place = Place::new();
    repository(&place, "", "");
    std::fs::remove_file(place.workspace().join("TASKS.md")).unwrap();
    std::fs::write(place.path("secret.txt"), "hidden\n").unwrap();
    let command = format!("cat {} > found.txt; true", place.path("secret.txt").display());
    let script = serde_json::json!([
        {"tool": "Bash", "input": {"command": command}},
        {"text": "- [ ] One\n"},
    ]);
    std::fs::write(place.workspace().join("PRD.md"), format!("@@{script}")).unwrap();
    weir_loop(&place, &["plan", "--sandbox", "PRD.md"]).expect(0);
    assert_eq!(std::fs::read_to_string(place.workspace().join("found.txt")).unwrap(), "");
}

#[test]
fn without_a_sandbox_there_is_no_run() {
    let place = Place::new();
    repository(&place, &task("One", "echo 1 > one.txt"), "");
    let tools = place.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for program in ["git", "sh", "cat"] {
        let found =
            ["/usr/bin", "/bin", "/usr/local/bin"].map(|folder| std::path::Path::new(folder).join(program));
        let found = found.iter().find(|file| file.exists()).unwrap();
        std::os::unix::fs::symlink(found, tools.join(program)).unwrap();
    }
    let place = place.set("PATH", tools);
    let done = weir_loop(&place, &["run", "--sandbox"]);
    assert!(done.code != Some(0) && done.stderr.contains("bubblewrap"), "{done:?}");
    assert_eq!(commits(&place), [""; 0]);
}
