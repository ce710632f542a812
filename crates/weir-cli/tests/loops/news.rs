//! Notifications by a command and by a webhook with a real listener.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use serde_json::Value;

use crate::common::{Place, Running, eventually};
use crate::repository::{commits, repository, task, weir_loop};

/// Listens for notifications and passes them on.
fn listener() -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?a=\"b\"", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).unwrap();
            if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, received)
}

fn config(url: &str) -> String {
    let url = Value::from(url);
    format!(
        "[loop.task_limits]\nattempts = 1\n[[loop.gates]]\nname = \"whole\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\n\
         [loop.notify]\nwebhook = {url}\ncommand = [\"sh\", \"-c\", \"mkdir -p ../news; cat > ../news/$$\"]\n"
    )
}

/// The kinds, sorted: they are sent concurrently, in any order.
fn kinds(mut news: Vec<Value>) -> Vec<String> {
    news.sort_by_key(|news| news["kind"].to_string());
    news.iter().map(|news| news["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn questions_failures_and_the_end_are_announced_by_webhook_and_command() {
    let place = Place::new();
    let asks = "- [ ] Asks\n  @@[{\"tool\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"Which \\\"one\\\"?\",\"header\":\"x\",\"multiSelect\":false,\"options\":[{\"label\":\"Red\",\"description\":\"r\"},{\"label\":\"Blue\",\"description\":\"b\"}]}]}},{\"tool\":\"Bash\",\"input\":{\"command\":\"echo 1 > a\"}},{\"text\":\"ok\"}]\n";
    let (url, received) = listener();
    repository(&place, &(asks.to_owned() + &task("Breaks", "touch broken")), &config(&url));
    let running = Running::start(place.command(&["loop", "run"]));
    let question = received.recv().unwrap();
    assert_eq!(question["kind"], "question");
    // The command that it suggests works.
    let text = question["text"].as_str().unwrap();
    let command = text.split('`').nth(1).unwrap().strip_prefix("weir loop ").unwrap();
    let words: Vec<&str> = command.split(' ').map(|word| if word == "…" { "blue" } else { word }).collect();
    weir_loop(&place, &words).expect(0);
    running.finish().expect(1);
    assert_eq!(commits(&place), ["Asks"]);
    let rest: Vec<Value> = received.try_iter().collect();
    assert!(rest.iter().any(|news| news["event"]["task"] == "breaks"), "{rest:?}");
    assert_eq!(kinds(rest), ["end", "failure"]);
    let told = std::fs::read_dir(place.workspace().join("../news")).unwrap();
    let told =
        told.map(|file| serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap());
    let told: Vec<Value> = told.collect();
    assert_eq!(kinds(told), ["end", "failure", "question"]);
}

#[test]
fn a_limit_is_announced() {
    let place = Place::new();
    let (url, received) = listener();
    repository(&place, &(task("A", "echo 1 > a") + &task("B", "echo 1 > b")), &config(&url));
    weir_loop(&place, &["run", "--max-iterations", "1"]).expect(8);
    let news: Vec<Value> = received.try_iter().collect();
    assert!(news[0]["text"].as_str().unwrap().contains("limits.iterations"), "{news:?}");
    assert_eq!(kinds(news), ["limit"]);
}

#[test]
fn a_webhook_is_sent_through_the_proxy_of_the_environment() {
    let (proxy, received) = listener();
    let place = Place::new().set("http_proxy", proxy.split("/hook").next().unwrap());
    // There is no such host.
    repository(&place, &task("A", "echo 1 > a"), &config("http://hook.invalid/"));
    weir_loop(&place, &["run"]).expect(0);
    assert_eq!(kinds(received.try_iter().collect()), ["end"]);
}

#[test]
fn an_unreachable_webhook_changes_nothing_and_is_reported() {
    let place = Place::new();
    // The listener is dropped, so the port is closed.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    repository(&place, &task("A", "echo 1 > a"), &config(&format!("http://{free}/")));
    let done = weir_loop(&place, &["run"]).expect(0);
    assert!(done.text().contains("the notification by webhook failed"), "{done:?}");
    eventually("the command heard it", || place.workspace().join("../news").exists().then_some(()));
}
