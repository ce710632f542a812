//! Reviews: what is shown, taken back and committed, and what is refused.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_host::{Actor, NewSession};
use weir_server::Role;
use weir_testkit::{begin_repository, git};

use crate::support::Place;

/// A repository in the root, and a session in it.
async fn project(place: &Place) -> (PathBuf, String) {
    let folder = Path::new(&place.root()).join("project");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "one\n").unwrap();
    begin_repository(&folder);
    let new = NewSession::new(folder.display().to_string());
    let session = place.app.host().create(new, &Actor::new("test")).await.unwrap().session.id;
    (folder, session)
}

async fn changes(place: &Place, session: &str, query: &str) -> Value {
    let answer = place.get(Role::Driver, &format!("/v1/sessions/{session}/changes{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn changes_are_shown_reverted_staged_and_committed() {
    let place = Place::new().await;
    let (folder, session) = project(&place).await;
    assert_eq!(changes(&place, &session, "").await["files"], json!([]));
    std::fs::write(folder.join("a.txt"), "two\n").unwrap();
    std::fs::write(folder.join("-n\n<b>"), "new\n").unwrap();
    std::fs::write(folder.join("bin"), "a\0b").unwrap();
    let review = changes(&place, &session, "").await;
    assert_eq!((&review["branch"], &review["top"]), (&json!("main"), &json!(folder.display().to_string())));
    let files = review["files"].as_array().unwrap();
    assert_eq!(
        files.iter().map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>(),
        ["-n\n<b>", "a.txt", "bin"]
    );
    assert_eq!((&files[1]["status"], &files[1]["added"]), (&json!("modified"), &json!(1)));
    assert_eq!(files[1]["hunks"][0]["lines"], json!(["-one", "+two"]));
    assert_eq!((&files[2]["added"], &files[2]["hunks"]), (&Value::Null, &Value::Null));

    let path = |name: &str| format!("/v1/sessions/{session}/changes/{name}");
    let one = place.get(Role::Driver, &path("file?path=a.txt")).await;
    assert_eq!(one.json(), files[1]);
    let none = place.get(Role::Driver, &path("file?path=../a.txt")).await;
    assert_eq!(none.problem(404), "change_not_found");

    // Only what was seen is reverted.
    std::fs::write(folder.join("a.txt"), "three\n").unwrap();
    let revert = json!({"path": "a.txt", "seal": files[1]["seal"]});
    let refused = place.ask(Role::Driver, "POST", &path("revert"), Some(&revert)).await;
    assert_eq!(refused.problem(409), "file_changed");
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "three\n");
    let seal = changes(&place, &session, "").await["files"][1]["seal"].clone();
    let revert = json!({"path": "a.txt", "seal": seal, "hunk": 0});
    let done = place.ask(Role::Driver, "POST", &path("revert"), Some(&revert)).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "one\n");
    let kept = format!("{}:a.txt", done.json()["kept"].as_str().unwrap());
    assert_eq!(git(&folder, &["cat-file", "blob", &kept]), "three\n");

    let empty = place.ask(Role::Driver, "POST", &path("commit"), Some(&json!({"message": "x"}))).await;
    assert_eq!(empty.problem(409), "nothing_staged");
    let stage = json!({"paths": ["-n\n<b>"], "staged": true});
    assert_eq!(place.ask(Role::Driver, "POST", &path("stage"), Some(&stage)).await.status, 204);
    let review = changes(&place, &session, "").await;
    assert_eq!((&review["files"][0]["staged"], &review["files"][1]["staged"]), (&json!(true), &json!(false)));
    let commit = json!({"message": "--amend"});
    let made = place.ask(Role::Driver, "POST", &path("commit"), Some(&commit)).await;
    assert_eq!((made.status.as_u16(), &made.json()["branch"]), (200, &json!("main")), "{}", made.text());
    assert_eq!(git(&folder, &["log", "-1", "--format=%s"]), "--amend\n");
    let files = changes(&place, &session, "").await["files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_worktree_is_compared_with_where_its_branch_began() {
    let place = Place::new().await;
    let (folder, _) = project(&place).await;
    let body = json!({"cwd": folder.display().to_string(), "worktree": {"branch": "work"}});
    let session = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await.json();
    let (id, cwd) = (session["id"].as_str().unwrap(), Path::new(session["cwd"].as_str().unwrap()));
    assert_eq!(session["cwd"], format!("{}/.weir/worktrees/work", folder.display()));
    std::fs::write(cwd.join("committed"), "x\n").unwrap();
    git(cwd, &["add", "-A"]);
    git(cwd, &["commit", "-qm", "Work"]);
    std::fs::write(cwd.join("not yet"), "x\n").unwrap();
    // Work of others on the main branch does not count.
    std::fs::write(folder.join("theirs"), "quite another text\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "Theirs"]);
    let names = |review: Value| -> Vec<String> {
        let files = review["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let review = changes(&place, id, "?base=merge_base").await;
    assert_eq!(review["revision"], "main");
    assert_eq!(names(review), ["committed", "not yet"]);
    assert_eq!(names(changes(&place, id, "").await), ["not yet"]);
    assert_eq!(
        names(changes(&place, id, "?base=revision&revision=main").await),
        ["committed", "not yet", "theirs"]
    );
}

#[tokio::test]
async fn no_revision_is_an_option_and_no_path_leads_out() {
    let place = Place::new().await;
    let (folder, session) = project(&place).await;
    let outside = place.path("outside");
    std::fs::write(&outside, "precious\n").unwrap();
    std::fs::write(folder.join("a.txt"), "two\n").unwrap();
    for name in ["--output=x", "-O", "main..HEAD", "main:a.txt", "@{1}", "a b", ""] {
        let name = name.replace(' ', "%20");
        for base in ["merge_base", "revision"] {
            let path = format!("/v1/sessions/{session}/changes?base={base}&revision={name}");
            assert_eq!(place.get(Role::Driver, &path).await.problem(422), "git_name", "{path}");
        }
    }
    let path = format!("/v1/sessions/{session}/changes?base=revision&revision=none");
    assert_eq!(place.get(Role::Driver, &path).await.problem(422), "revision_not_found");
    let seal = changes(&place, &session, "").await["files"][0]["seal"].clone();
    for name in ["../../outside", "/etc/passwd", ".git/config", "--all", ":(top)a.txt", "*", "", "a.txt\0"] {
        let revert = json!({"path": name, "seal": seal});
        let answer = place
            .ask(Role::Driver, "POST", &format!("/v1/sessions/{session}/changes/revert"), Some(&revert))
            .await;
        assert_eq!(answer.problem(404), "change_not_found", "{name}");
        let stage = json!({"paths": [name], "staged": true});
        let answer = place
            .ask(Role::Driver, "POST", &format!("/v1/sessions/{session}/changes/stage"), Some(&stage))
            .await;
        assert_eq!(answer.problem(404), "change_not_found", "{name}");
    }
    assert_eq!(git(&folder, &["diff", "--cached", "--name-only"]), "");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "precious\n");
    // Without a repository there is nothing to review.
    let plain = place.session().await;
    let answer = place.get(Role::Driver, &format!("/v1/sessions/{plain}/changes")).await;
    assert_eq!(answer.problem(422), "no_repository");
}
