//! A real homeserver on the loopback, shared by all tests of this program.
//!
//! It ends with this program, however that ends: a shell runs it and waits for the end of its own input, which only
//! this program keeps open.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use weir_testkit::http::free_address;

/// Time limit for starting: it creates its database, and the machine may be busy.
const START_TIMEOUT: Duration = Duration::from_secs(180);
/// Set to 1 to skip these tests if Synapse is not installed.
const SKIP: &str = "WEIR_SKIP_SYNAPSE";

static SYNAPSE: OnceCell<Synapse> = OnceCell::const_new();

pub(crate) struct Synapse {
    pub(crate) url: String,
    /// The homeserver runs while its input is open.
    _shell: Child,
}

/// Whether the tests that need a homeserver are skipped.
pub(crate) fn is_skipped() -> bool {
    let skipped = std::env::var_os(SKIP).is_some_and(|value| value == "1");
    if skipped {
        eprintln!("skipped, because of {SKIP}=1");
    }
    skipped
}

/// The homeserver, which the first test starts.
pub(crate) async fn synapse() -> &'static Synapse {
    SYNAPSE.get_or_init(Synapse::start).await
}

/// Runs the homeserver until its own input ends, then removes the folder. Every system that Synapse runs on has a
/// shell.
const SHELL: &str = r#"
python3 -m synapse.app.homeserver --config-path "$1/homeserver.yaml" </dev/null >"$1/output" 2>&1 &
server=$!
cat >/dev/null
# Hide the message of the shell about the kill.
exec 2>/dev/null
kill -KILL "$server"
wait "$server"
rm -rf "$1"
"#;

impl Synapse {
    async fn start() -> Self {
        let installed = installed();
        for attempt in 1.. {
            // Synapse cannot choose a free port itself, so another program may take this one first.
            let port = free_address().unwrap().port();
            let folder = tempfile::Builder::new().prefix("weir-synapse-").tempdir().unwrap();
            configure(folder.path(), port);
            let mut synapse =
                Self { url: format!("http://127.0.0.1:{port}"), _shell: shell(&installed, &folder) };
            if synapse.answers(folder.path()).await {
                // From now on the shell removes it.
                drop(folder.keep());
                return synapse;
            }
            let output = std::fs::read_to_string(folder.path().join("output")).unwrap_or_default();
            drop(synapse.shell_input());
            synapse._shell.wait().unwrap();
            assert!(attempt < 4, "Synapse did not start:\n{output}");
        }
        unreachable!("there is always another attempt");
    }

    fn shell_input(&mut self) -> Option<std::process::ChildStdin> {
        self._shell.stdin.take()
    }

    async fn answers(&self, folder: &Path) -> bool {
        let client = weir_bridge::http::client(Duration::from_secs(5)).unwrap();
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            let health = client.get(format!("{}/health", self.url)).send().await;
            if health.is_ok_and(|health| health.status().is_success()) {
                return true;
            }
            let output = std::fs::read_to_string(folder.join("output")).unwrap_or_default();
            if output.contains("Error") || output.contains("error during initialisation") {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "the homeserver is a part of the tests and ends with them")]
fn shell(installed: &Path, folder: &TempDir) -> Child {
    Command::new("sh")
        .args(["-c", SHELL, "synapse"])
        .arg(folder.path())
        .env("PYTHONPATH", installed.join("python"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Where the setup script installed it.
fn installed() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the script says where it has put it, and ends")]
    let mut script =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup-synapse.sh"));
    let output = script.arg("--print-path").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// Anyone can register, nothing is rate limited, and nothing leaves the machine.
fn configure(folder: &Path, port: u16) {
    let unlimited = json!({"per_second": 100_000, "burst_count": 100_000});
    let file = |name: &str| folder.join(name).display().to_string();
    let configuration = json!({
        "server_name": "localhost",
        "pid_file": file("pid"),
        "listeners": [{"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client", "health"], "compress": false}]}],
        "database": {"name": "sqlite3", "args": {"database": file("homeserver.db")}},
        "log_config": file("log.yaml"),
        "media_store_path": file("media"),
        "signing_key_path": file("signing.key"),
        "macaroon_secret_key": "only for tests",
        "form_secret": "only for tests",
        "report_stats": false,
        "trusted_key_servers": [],
        "suppress_key_server_warning": true,
        "federation_domain_whitelist": [],
        "presence": {"enabled": false},
        "enable_registration": true,
        "enable_registration_without_verification": true,
        "bcrypt_rounds": 4,
        "rc_message": unlimited,
        "rc_registration": unlimited,
        "rc_login": {"address": unlimited, "account": unlimited, "failed_attempts": unlimited},
        "rc_joins": {"local": unlimited, "remote": unlimited},
        "rc_joins_per_room": unlimited,
        "rc_invites": {"per_room": unlimited, "per_user": unlimited, "per_issuer": unlimited},
        "rc_room_creation": unlimited,
        "rc_media_create": unlimited,
    });
    let log = json!({
        "version": 1,
        "formatters": {"short": {"format": "%(levelname)s %(name)s %(message)s"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "short"}},
        "root": {"level": "WARNING", "handlers": ["console"]},
    });
    // JSON is YAML.
    std::fs::write(folder.join("homeserver.yaml"), configuration.to_string()).unwrap();
    std::fs::write(folder.join("log.yaml"), log.to_string()).unwrap();
    let key = "ed25519 a_test c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiBXZWlyISEhISE";
    std::fs::write(folder.join("signing.key"), format!("{key}\n")).unwrap();
}
