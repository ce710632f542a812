//! Behind nginx, with its defaults and a base path.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use weir_testkit::http::free_address;

use crate::common::{Client, Place, eventually, script};
use crate::support::Served;

/// A running proxy.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join("nginx")).find(|program| program.exists());
    if found.is_none() && std::env::var_os("WEIR_SKIP_NGINX").is_some() {
        let _ = writeln!(std::io::stderr(), "NOT TESTED: nginx not found");
        return None;
    }
    assert!(found.is_some(), "nginx not found: run scripts/setup-debian.sh nginx, or set WEIR_SKIP_NGINX=1");
    found
}

#[expect(clippy::disallowed_methods, reason = "the proxy is a part of the test, which ends it")]
fn start(program: &PathBuf, place: &Place, port: u16, server: &str) -> Proxy {
    let folder = place.path("proxy");
    std::fs::create_dir(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};", at(kind)))
        .join(" ");
    let settings = format!(
        "daemon off; master_process off; pid {}; error_log {}; events {{}}\n\
         http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; \
         location /weir/ {{ proxy_pass http://{server}; }} }} }}\n",
        at("pid"),
        at("error.log"),
    );
    std::fs::write(folder.join("nginx.conf"), settings).unwrap();
    let mut command = Command::new(program);
    command.args(["-p", &folder.display().to_string(), "-c", &at("nginx.conf"), "-e", &at("error.log")]);
    Proxy(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn streams_flow_through_a_proxy_that_buffers() {
    let Some(program) = program() else { return };
    let port = free_address().unwrap().port();
    let public = format!("http://127.0.0.1:{port}/weir");
    let served = Served::with(&["--public-url", &public]);
    let _proxy = start(&program, &served.place, port, &served.client.address);
    let client = Client::new(&public, &served.client.token);
    eventually("the proxy", || std::net::TcpStream::connect(&client.address).ok());
    client.get("/healthz").expect(200);
    let origin = format!("http://127.0.0.1:{port}");
    let page = [("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let body = json!({"cwd": served.place.workspace()});
    let created = client.ask("POST", "/v1/sessions", &page, Some(&body)).expect(201);
    let session = created.json()["id"].as_str().unwrap().to_owned();
    assert!(created.header("location").starts_with("/weir/v1/sessions/"));
    client.ask("POST", "/v1/sessions", &[("Origin", "http://evil.example")], Some(&body)).expect(403);

    let mut events = client.events(&format!("/v1/sessions/{session}/events"), None);
    events.wait("snapshot");
    // The second word would come in a minute: the first one is not buffered.
    let message = json!({"client_id": "1", "text": script(r#"{"text":"one two","wdelay":60}"#)});
    client.post(&format!("/v1/sessions/{session}/messages"), &message).expect(202);
    events.until(|event| event.name == "changes" && event.data.contains("\"one"));
    client.post(&format!("/v1/sessions/{session}/stop"), &json!({})).expect(200);
    assert!(client.get("/").expect(200).text().contains("<html"));
}
