//! Folders and worktrees: what is listed, made and removed, and what is refused.

use std::path::Path;

use serde_json::{Value, json};
use weir_server::{NewToken, Role};
use weir_testkit::{begin_repository, git};

use crate::support::Place;

/// A repository in the root.
fn project(place: &Place) -> String {
    let folder = Path::new(&place.root()).join("project");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/a.txt"), "one\n").unwrap();
    begin_repository(&folder);
    folder.display().to_string()
}

async fn list(place: &Place, cwd: &str) -> Vec<Value> {
    let answer = place.get(Role::Driver, &format!("/v1/worktrees?cwd={cwd}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["worktrees"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_session_works_in_a_worktree_of_its_own() {
    let place = Place::new().await;
    let project = project(&place);
    let body = json!({"cwd": format!("{project}/src"), "key": "k", "worktree": {"branch": "try/one"}});
    let created = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let worktree = format!("{project}/.weir/worktrees/try-one");
    let session = created.json();
    assert_eq!(session["cwd"], format!("{worktree}/src"));
    // The key finds the session again, and no second worktree is made.
    let again = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
    assert_eq!((again.status.as_u16(), &again.json()["id"]), (200, &session["id"]));

    let listed = list(&place, &project).await;
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["is_main"], &listed[0]["sessions"]), (&json!(true), &json!([])));
    let member = |name: &str| &listed[1][name];
    assert_eq!((member("path"), member("branch")), (&json!(worktree), &json!("try/one")));
    assert_eq!((member("is_own"), member("changed")), (&json!(true), &json!(0)));
    assert_eq!(member("sessions"), &json!([session["id"]]));

    std::fs::write(format!("{worktree}/src/new"), "new\n").unwrap();
    let path = format!("/v1/worktrees?path={worktree}");
    let refused = place.ask(Role::Driver, "DELETE", &path, None).await;
    assert_eq!(refused.problem(409), "uncommitted_changes");
    assert!(refused.json()["detail"].as_str().unwrap().contains("src/new"), "{}", refused.text());
    let removed =
        place.ask(Role::Driver, "DELETE", &format!("{path}&confirm=true&with_branch=true"), None).await;
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!(removed.json()["branch_deleted"], true);
    let kept = removed.json()["kept"].as_str().unwrap().to_owned();
    assert_eq!(git(Path::new(&project), &["cat-file", "blob", &format!("{kept}:src/new")]), "new\n");
    assert_eq!(list(&place, &project).await.len(), 1);
}

#[tokio::test]
async fn names_that_git_would_take_for_something_else_are_refused() {
    let place = Place::new().await;
    let project = project(&place);
    for name in ["--upload-pack=evil", "-f", "a..b", "main^{tree}", "a b", "../x", ":/x", "@{-1}", "HEAD", ""]
    {
        for body in [json!({"cwd": project, "branch": name}), json!({"cwd": project, "from": name})] {
            if body["from"] == "HEAD" {
                continue;
            }
            let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
            assert_eq!(answer.problem(422), "git_name", "{body}");
        }
    }
    let body = json!({"cwd": project, "from": "no-such-branch"});
    let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
    assert_eq!(answer.problem(422), "revision_not_found");
    let body = json!({"cwd": project, "branch": "main"});
    let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
    assert_eq!(answer.problem(409), "branch_exists");
    let body = json!({"cwd": project, "force": true});
    assert_eq!(
        place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await.problem(422),
        "json_shape"
    );
    assert_eq!(list(&place, &project).await.len(), 1);
}

#[tokio::test]
async fn nothing_outside_the_roots_is_touched() {
    let place = Place::new().await;
    let project = project(&place);
    // A repository outside, with a worktree where Weir's own would be.
    let outside = place.path("outside");
    std::fs::create_dir_all(&outside).unwrap();
    begin_repository(&outside);
    let theirs = outside.join(".weir/worktrees/x");
    git(&outside, &["worktree", "add", "-q", "-b", "x", theirs.to_str().unwrap()]);
    let list = format!("/v1/worktrees?cwd={}", outside.display());
    assert_eq!(place.get(Role::Driver, &list).await.problem(422), "folder_not_allowed");
    let remove = format!("/v1/worktrees?confirm=true&path={}", theirs.display());
    assert_eq!(place.ask(Role::Driver, "DELETE", &remove, None).await.problem(422), "folder_not_allowed");
    // A folder inside whose repository is said to be that one.
    let lure = Path::new(&place.root()).join("lure");
    std::fs::create_dir(&lure).unwrap();
    std::fs::write(lure.join(".git"), format!("gitdir: {}\n", outside.join(".git").display())).unwrap();
    let body = json!({"cwd": lure.display().to_string()});
    let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
    assert_eq!(answer.problem(422), "folder_not_allowed");
    // A folder that is in no repository.
    std::fs::remove_file(lure.join(".git")).unwrap();
    let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
    assert_eq!(answer.problem(422), "no_repository");
    for path in [project.as_str(), "relative", "/", "", &format!("{project}/.weir/worktrees/../../src")] {
        let answer =
            place.ask(Role::Driver, "DELETE", &format!("/v1/worktrees?confirm=true&path={path}"), None).await;
        assert!(matches!(answer.status.as_u16(), 404 | 422), "{path}: {}", answer.text());
    }
    assert!(theirs.join(".git").exists() && Path::new(&project).join("src/a.txt").exists());
}

/// A session can write what is in `.git`.
#[tokio::test]
async fn links_among_the_files_of_git_do_not_lead_out() {
    use std::os::unix::fs::symlink;
    let place = Place::new().await;
    let project = project(&place);
    let git_folder = Path::new(&project).join(".git");
    let outside = place.path("outside");
    std::fs::create_dir_all(&outside).unwrap();
    begin_repository(&outside);
    std::fs::write(outside.join("profile"), "echo hello\n").unwrap();
    let list = format!("/v1/worktrees?cwd={project}");
    let is_refused = async |what: &str| {
        let answer = place.get(Role::Driver, &list).await;
        assert_eq!(answer.problem(422), "folder_not_allowed", "{what}");
        let body = json!({"cwd": project});
        let answer = place.ask(Role::Driver, "POST", "/v1/worktrees", Some(&body)).await;
        assert_eq!(answer.problem(422), "folder_not_allowed", "{what}");
    };
    let is_fine = async || assert_eq!(place.get(Role::Driver, &list).await.status, 200);
    is_fine().await;
    // The log of a branch is appended to; a commit's message would become a line of that file.
    let log = git_folder.join("logs/HEAD");
    let kept = std::fs::read(&log).unwrap();
    for target in ["profile", "is/not/there"] {
        std::fs::remove_file(&log).unwrap();
        symlink(outside.join(target), &log).unwrap();
        is_refused(target).await;
    }
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, kept).unwrap();
    is_fine().await;
    for name in ["objects/pack", "refs/heads", "objects", "packed-refs"] {
        let (path, aside) = (git_folder.join(name), git_folder.join("aside"));
        let was_there = std::fs::rename(&path, &aside).is_ok();
        symlink(outside.join(".git").join(if name == "packed-refs" { "HEAD" } else { name }), &path).unwrap();
        // Without its objects or references, git may find no repository at all.
        let answer = place.get(Role::Driver, &list).await;
        assert_eq!(answer.status, 422, "{name}: {}", answer.text());
        std::fs::remove_file(&path).unwrap();
        if was_there {
            std::fs::rename(&aside, &path).unwrap();
        }
        is_fine().await;
    }
    let alternates = git_folder.join("objects/info/alternates");
    std::fs::write(&alternates, format!("# a comment\n{}\n", outside.join(".git/objects").display()))
        .unwrap();
    is_refused("alternates").await;
    std::fs::write(&alternates, format!("\"{}\"\n", outside.join(".git/objects").display())).unwrap();
    is_refused("quoted").await;
    // One inside the roots that names one outside.
    let other = Path::new(&place.root()).join("other");
    std::fs::create_dir_all(other.join("objects/info")).unwrap();
    std::fs::write(&alternates, "../../../other/objects\n").unwrap();
    is_fine().await;
    let next = other.join("objects/info/alternates");
    std::fs::write(next, format!("{}\n", outside.join(".git/objects").display())).unwrap();
    is_refused("the next one").await;
    assert_eq!(std::fs::read_to_string(outside.join("profile")).unwrap(), "echo hello\n");
}

#[tokio::test]
async fn a_token_for_one_session_has_no_worktrees() {
    let place = Place::new().await;
    let project = project(&place);
    let session = Some(place.session().await);
    let (_, secret) =
        place.app.tokens().add(NewToken { session, ..NewToken::new("guest", Role::Driver) }, 1).unwrap();
    let body = json!({"cwd": project});
    for (method, path, body) in [
        ("GET", format!("/v1/worktrees?cwd={project}"), None),
        ("POST", "/v1/worktrees".to_owned(), Some(&body)),
        ("DELETE", format!("/v1/worktrees?path={project}"), None),
    ] {
        let answer = place.ask_with(secret.reveal(), method, &path, body).await;
        assert_eq!(answer.problem(403), "one_session", "{method}");
    }
}

#[tokio::test]
async fn folders_are_listed_with_the_state_of_their_repository() {
    let place = Place::new().await;
    let project = project(&place);
    let outside = place.path("outside");
    std::fs::create_dir_all(outside.join("secret")).unwrap();
    std::os::unix::fs::symlink(&outside, Path::new(&place.root()).join("link")).unwrap();
    std::fs::write(format!("{project}/new"), "new\n").unwrap();
    let roots = place.get(Role::Driver, "/v1/folders").await.json();
    assert_eq!((&roots["path"], &roots["folders"][0]["path"]), (&Value::Null, &json!(place.root())));
    let root = place.get(Role::Driver, &format!("/v1/folders?path={}", place.root())).await.json();
    // The link leads out, so it is not offered.
    assert_eq!(root["folders"], json!([{"name": "project", "path": project, "repository": true}]));
    assert_eq!((&root["git"], &root["parent"]), (&Value::Null, &Value::Null));
    let inside = place.get(Role::Driver, &format!("/v1/folders?path={project}/src")).await.json();
    assert_eq!((&inside["parent"], &inside["folders"]), (&json!(project), &json!([])));
    let git = &inside["git"];
    assert_eq!((&git["top"], &git["branch"], &git["changed"]), (&json!(project), &json!("main"), &json!(1)));
    assert_eq!((&git["linked"], &git["ahead"]), (&json!(false), &Value::Null));
    for path in [
        outside.display().to_string(),
        format!("{}/link", place.root()),
        format!("{project}/../../outside"),
        "/".into(),
        "src".into(),
    ] {
        let answer = place.get(Role::Driver, &format!("/v1/folders?path={path}")).await;
        assert_eq!(answer.problem(422), "folder_not_allowed", "{path}");
    }
}
