//! A real NATS server, or a cluster of them, on loopback, for the tests of sessions on a cluster.
//!
//! Nodes keep their files in a temporary folder and have free ports. A node can be killed, paused and started again with the
//! same files and ports. All of them end when the value is dropped, and also when the test is killed: each has a shell that
//! waits for the test and then kills it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::wait::DEADLINE;

/// Skips the tests that need a NATS server.
const SKIP_VARIABLE: &str = "WEIR_SKIP_NATS";
const VERSION: &str = "2.15.0";
const POLL: Duration = Duration::from_millis(10);
/// How often other ports are tried, if another program has taken one meanwhile.
const MAX_TRIES: usize = 5;

/// Runs the server that its arguments name, and kills it when the standard input ends: when the test closes it, or is gone.
const GUARD: &str = "\"$0\" \"$@\" >/dev/null 2>&1 </dev/null & server=$!; echo $server; read -r _; kill -KILL $server 2>/dev/null; wait";

/// How the servers are started.
#[derive(Debug, Clone)]
pub struct NatsOptions {
    /// One node, or the nodes of a cluster.
    pub nodes: usize,
    /// Whether they have JetStream.
    pub jetstream: bool,
    /// Whether an acknowledged message is on the disk (`sync_interval: always`).
    pub synced: bool,
    /// The most that each node keeps in files, in bytes.
    pub max_file: u64,
    /// The folder for the files of the nodes; a temporary one by default.
    pub folder: Option<PathBuf>,
    /// More lines for the configuration of each node.
    pub config: String,
}

impl NatsOptions {
    /// This many nodes with JetStream, where nothing that was acknowledged is lost.
    pub fn nodes(nodes: usize) -> Self {
        Self { nodes, jetstream: true, synced: true, max_file: 4 << 30, folder: None, config: String::new() }
    }
}

/// NATS servers that run.
#[derive(Debug)]
pub struct Nats {
    nodes: Vec<Node>,
    /// Removed after the nodes have ended.
    _folder: Option<TempDir>,
}

#[derive(Debug)]
struct Node {
    program: PathBuf,
    config: PathBuf,
    client: SocketAddr,
    monitor: SocketAddr,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    guard: Child,
    server: Pid,
    is_paused: bool,
}

impl Nats {
    /// Whether the environment says to leave out the tests that need a server. Then it says so on the standard error, where
    /// it is visible even if the test passes.
    pub fn is_skipped() -> bool {
        let is_skipped = std::env::var_os(SKIP_VARIABLE).is_some_and(|value| value == "1");
        if is_skipped {
            // Not `eprintln!`, whose output the test harness captures.
            let _closed_stderr = writeln!(
                io::stderr(),
                "NOT TESTED: {SKIP_VARIABLE}=1 is set, so this test did not run against a NATS server"
            );
        }
        is_skipped
    }

    /// Starts this many nodes and waits until they work.
    ///
    /// # Errors
    /// If no server is installed, or it does not start.
    pub fn start(nodes: usize) -> io::Result<Self> {
        Self::start_with(&NatsOptions::nodes(nodes))
    }

    /// Starts servers and waits until they work.
    ///
    /// # Errors
    /// If no server is installed, or it does not start.
    pub fn start_with(options: &NatsOptions) -> io::Result<Self> {
        let program = program()?;
        let mut tried = 0;
        loop {
            let (folder, root) = match &options.folder {
                Some(folder) => (None, folder.clone()),
                None => {
                    let folder = crate::memory_folder()?;
                    let root = folder.path().to_owned();
                    (Some(folder), root)
                }
            };
            let nodes = configure(options, &program, &root)?;
            let mut servers = Self { nodes, _folder: folder };
            tried += 1;
            let started = (0..options.nodes).try_for_each(|node| servers.begin(node));
            match started.and_then(|()| servers.wait_until_ready(options.jetstream)) {
                Ok(()) => return Ok(servers),
                Err(error) if tried >= MAX_TRIES => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The addresses of all nodes, for a client.
    pub fn urls(&self) -> Vec<String> {
        (0..self.nodes.len()).map(|node| self.url(node)).collect()
    }

    /// The address of one node.
    pub fn url(&self, node: usize) -> String {
        self.nodes.get(node).map(|node| format!("nats://{}", node.client)).unwrap_or_default()
    }

    /// The address of a node's monitoring, over HTTP.
    pub fn monitor(&self, node: usize) -> Option<SocketAddr> {
        self.nodes.get(node).map(|node| node.monitor)
    }

    /// The name of a node, by which the cluster calls it.
    pub fn name(node: usize) -> String {
        format!("node-{node}")
    }

    /// The number of a node that the cluster calls by this name.
    pub fn node(&self, name: &str) -> Option<usize> {
        (0..self.nodes.len()).find(|&node| Self::name(node) == name)
    }

    /// Kills a node with SIGKILL. Its files stay.
    pub fn kill(&mut self, node: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.running = None;
        }
    }

    /// Stops a node with SIGSTOP: its connections stay open and nothing is answered.
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::STOP, true)
    }

    /// Lets a paused node continue.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::CONT, false)
    }

    fn signal(&mut self, node: usize, signal: Signal, is_paused: bool) -> io::Result<()> {
        let running = self.nodes.get_mut(node).and_then(|node| node.running.as_mut());
        let running = running.ok_or_else(|| io::Error::other("the node does not run"))?;
        kill_process(running.server, signal)?;
        running.is_paused = is_paused;
        Ok(())
    }

    /// Whether a node runs and is not paused.
    pub fn is_up(&self, node: usize) -> bool {
        let running = self.nodes.get(node).and_then(|node| node.running.as_ref());
        running.is_some_and(|running| !running.is_paused)
    }

    /// Starts a node that was killed, with the files and ports that it had. Does not wait for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn begin(&mut self, node: usize) -> io::Result<()> {
        let node = self.nodes.get_mut(node).ok_or_else(|| io::Error::other("there is no such node"))?;
        node.running = None;
        node.running = Some(Running::start(&node.program, &node.config)?);
        Ok(())
    }

    /// Waits until all nodes work: with JetStream, until they have what the others have.
    ///
    /// # Errors
    /// If a node has ended, or it takes too long.
    pub fn wait_until_ready(&mut self, jetstream: bool) -> io::Result<()> {
        let started = Instant::now();
        let path = if jetstream { "/healthz" } else { "/varz" };
        for number in 0..self.nodes.len() {
            while let Some(node) = self.nodes.get(number) {
                if get(node.monitor, path)
                    .is_ok_and(|answer| answer.starts_with("HTTP/1.") && answer.contains(" 200 "))
                {
                    break;
                }
                let has_ended = node.running.as_ref().is_none_or(|running| !running.is_alive());
                if has_ended || started.elapsed() > DEADLINE {
                    return Err(io::Error::other(format!(
                        "nats-server {} does not get ready",
                        Self::name(number)
                    )));
                }
                std::thread::park_timeout(POLL);
            }
        }
        Ok(())
    }
}

impl Running {
    #[expect(
        clippy::disallowed_methods,
        reason = "the guard ends the server and is reaped on drop; only tests use it"
    )]
    fn start(program: &Path, config: &Path) -> io::Result<Self> {
        let mut guard = Command::new("sh")
            .args(["-c", GUARD])
            .arg(program)
            .arg("--config")
            .arg(config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = guard.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let server = line.trim().parse().ok().and_then(Pid::from_raw);
        let server = server.ok_or_else(|| io::Error::other("the shell did not start nats-server"))?;
        Ok(Self { guard, server, is_paused: false })
    }

    fn is_alive(&self) -> bool {
        // One that has ended and waits for its shell has no command line any more.
        let path = format!("/proc/{}/cmdline", self.server.as_raw_nonzero());
        std::fs::read(path).is_ok_and(|command| !command.is_empty())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _has_ended = kill_process(self.server, Signal::KILL);
        drop(self.guard.stdin.take());
        let _status = self.guard.wait();
    }
}

/// The program that `scripts/setup-nats.sh` has installed.
fn program() -> io::Result<PathBuf> {
    let path = crate::real::cache().map(|cache| cache.join("nats").join(VERSION).join("nats-server"));
    path.filter(|path| path.is_file()).ok_or_else(|| {
        io::Error::other(format!(
            "nats-server {VERSION} is not installed: run `make test-cluster` or `scripts/setup-nats.sh`, or set \
             {SKIP_VARIABLE}=1 to test without it"
        ))
    })
}

fn configure(options: &NatsOptions, program: &Path, root: &Path) -> io::Result<Vec<Node>> {
    // All at once, so that they differ.
    let listeners = (0..options.nodes * 3)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<Vec<TcpListener>>>()?;
    let mut free = listeners.iter().map(TcpListener::local_addr);
    let mut next = || free.next().unwrap_or_else(|| Err(io::Error::other("too few ports")));
    let mut places = Vec::new();
    for _ in 0..options.nodes {
        places.push((next()?, next()?, next()?));
    }
    drop(listeners);
    let routes: Vec<_> = places.iter().map(|(_, _, cluster)| format!("\"nats://{cluster}\"")).collect();
    let mut nodes = Vec::new();
    for (number, (client, monitor, cluster)) in places.iter().enumerate() {
        let name = Nats::name(number);
        let folder = root.join(&name);
        std::fs::create_dir_all(&folder)?;
        let mut config = format!("server_name: {name}\nlisten: \"{client}\"\nhttp: \"{monitor}\"\n");
        if options.jetstream {
            let sync = if options.synced { "sync_interval: always" } else { "" };
            config += &format!(
                "jetstream {{ store_dir: \"{}\", max_file: {}, max_mem: 67108864\n{sync} }}\n",
                folder.display(),
                options.max_file
            );
        }
        if options.nodes > 1 {
            config += &format!(
                "cluster {{ name: weir-test, listen: \"{cluster}\", routes: [{}] }}\n",
                routes.join(", ")
            );
        }
        config += &options.config;
        let path = folder.join("nats.conf");
        std::fs::write(&path, config)?;
        let program = program.to_owned();
        nodes.push(Node { program, config: path, client: *client, monitor: *monitor, running: None });
    }
    Ok(nodes)
}

/// Asks a node's monitoring for something. Returns the whole response.
fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
