//! Processes of another user.

use weir_process::{Environment, Launch, OsUser, SpawnError, StopOptions};

/// As root, a process has the other user's rights; as anyone else, nothing is started.
#[tokio::test]
async fn a_process_runs_as_another_user_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let user = OsUser::named("nobody").unwrap();
    let is_root = user.give(place.path()).is_ok();
    let mut launch = Launch::new("/bin/sh")
        .args(["-c", "id -un; id -Gn | wc -w; echo $USER; test -r /etc/shadow || echo no"]);
    launch.cwd = Some(place.path().to_owned());
    launch.environment = user.environment(Environment::inherit());
    launch.user = Some(user);
    match launch.spawn().await {
        Ok(mut process) => {
            assert!(is_root);
            let mut said = Vec::new();
            while process.output.fill().await.unwrap() {
                while let Some(weir_wire::Frame::Line(line)) = process.output.next_frame() {
                    said.push(String::from_utf8_lossy(line).trim().to_owned());
                }
            }
            assert_eq!(said, ["nobody", "1", "nobody", "no"]);
            process.handle.stop(&StopOptions::now()).await;
        }
        Err(error) => {
            assert!(!is_root && matches!(error, SpawnError::User { .. }), "{error}");
        }
    }
}
