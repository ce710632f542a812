//! A bridge whose sessions are in a sandbox.

use rustix::process::Signal;
use serde_json::json;

use crate::common::Running;
use crate::killed::{ANNA, Chat};

#[test]
fn a_chat_cannot_access_files_outside_its_folder() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let chat = Chat::new().await;
        let place = &chat.place;
        for folder in ["read", "write"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        std::fs::write(place.path("read/given.txt"), "given\n").unwrap();
        let (read, write) = (place.path("read").display().to_string(), place.path("write").display().to_string());
        let args = ["bridge", "run", "--config", &chat.config, "--sandbox", "--sandbox-read", &read, "--sandbox-write", &write];
        let running = Running::start(place.command(&args));
        // The bot's token is outside.
        let command = format!(
            "cat {} > stolen.txt; cat {read}/given.txt > copy.txt; echo yes > {write}/out.txt; echo x > {read}/no.txt; true",
            place.path("token").display()
        );
        let turn = json!([{"tool": "Bash", "input": {"command": command}}, {"text": "I have looked."}]);
        chat.double.says(ANNA, &format!("@@{turn}"));
        chat.double.sees("an answer", |shown| shown.text.contains("I have looked.")).await;
        running.signal(Signal::TERM);
        running.finish().expect(0);
        place.wait_until_empty();
        let made = |name: &str| std::fs::read_to_string(place.workspace().join(name)).unwrap();
        assert_eq!((made("stolen.txt"), made("copy.txt")), (String::new(), "given\n".to_owned()));
        assert_eq!(std::fs::read_to_string(place.path("write/out.txt")).unwrap(), "yes\n");
        assert!(!place.path("read/no.txt").exists());
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
}
