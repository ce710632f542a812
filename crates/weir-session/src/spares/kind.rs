//! What a spare has to have in common with a session, and what a session tells it. Pure.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use serde_json::{Map, Value, json};
use weir_process::{Capabilities, Launch, Transport};
use weir_wire::{HostRequest, InitializeRequest};

use crate::introduction;
use crate::machine::{Greeting, Spawn};
use crate::options::{Origin, SessionOptions};

/// Makes a CLI wait for its session. Hidden in its help.
pub(crate) const AWAIT_CLAIM: &str = "--await-claim";

/// Arguments that a spare does without, because a session tells it.
const CLAIMED: [&str; 8] = [
    "--model",
    "--permission-mode",
    "--system-prompt",
    "--system-prompt-file",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--add-dir",
    "--session-id",
];

/// Members of the first request that a session tells a spare.
const CLAIMED_MEMBERS: [&str; 2] = ["agents", "title"];

/// What the processes of some sessions have in common.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    key: u64,
    /// How to start one, without folder and session id.
    launch: Launch,
    subagent_text: bool,
}

impl Kind {
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.key == other.key
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn state_directory(&self) -> Option<&Path> {
        self.launch.state_directory.as_deref()
    }

    /// How to start a spare with this session id in this folder.
    pub(super) fn launch(&self, id: &str, folder: std::path::PathBuf) -> Launch {
        let mut launch = self.launch.clone();
        launch.args.push(AWAIT_CLAIM.into());
        launch.args.push(format!("--session-id={id}").into());
        launch.cwd = Some(folder);
        launch.purpose = "spare".into();
        launch
    }

    /// The first request to a spare.
    pub(super) fn greeting(&self) -> HostRequest {
        let mut request = InitializeRequest::default();
        if self.subagent_text {
            request.extra.insert(introduction::SUBAGENT_TEXT.to_owned(), json!(true));
        }
        // With the hooks that every session has, so that it is never without them.
        let greeting = Greeting::With(Box::new(request));
        HostRequest::Initialize(greeting.request().unwrap_or_default())
    }
}

/// What a session needs of a spare.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: Kind,
    /// Members of `claim_session`.
    claim: Map<String, Value>,
    model: Option<String>,
}

impl Wanted {
    /// What this session needs; `None` if it needs a process of its own. `launch` is how that one would be started.
    pub(crate) fn of(
        options: &SessionOptions,
        spawn: &Spawn,
        launch: &Launch,
        known: Option<&Capabilities>,
    ) -> Option<Self> {
        let is_new = options.origin == Origin::New && *spawn == Spawn::default();
        if !is_new || !known?.has_flag(AWAIT_CLAIM) || needs_own_process(options) {
            return None;
        }
        // By its handle, so that a link that has changed since it was opened does not lead elsewhere.
        let folder = launch.directory.as_ref()?.for_others()?;
        let spec = &options.spec;
        let mut claim = Map::new();
        claim.insert("cwd".to_owned(), json!(folder));
        claim.insert(
            "permission_mode".to_owned(),
            json!(spec.permission_mode.as_deref().unwrap_or("default")),
        );
        let add_dirs: Vec<&str> =
            options.add_dirs.iter().map(|folder| folder.to_str()).collect::<Option<_>>()?;
        let optional = [
            ("system_prompt", spec.system_prompt.as_ref().map(|text| json!([text]))),
            ("append_system_prompt", options.appended_prompt().map(|text| json!(text))),
            ("additional_directories", (!add_dirs.is_empty()).then(|| json!(add_dirs))),
        ];
        claim.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        let members = introduction::members(options).into_iter();
        claim.extend(members.filter(|(name, _)| CLAIMED_MEMBERS.contains(&name.as_str())));
        Some(Self { kind: kind(options, launch), claim, model: spec.model.clone() })
    }

    /// The requests that bind a spare to the session, in this order.
    pub(super) fn requests(&self) -> Vec<HostRequest> {
        let claim = HostRequest::Other { subtype: "claim_session".to_owned(), fields: self.claim.clone() };
        let model = self.model.clone().map(|model| HostRequest::SetModel { model: Some(model) });
        std::iter::once(claim).chain(model).collect()
    }
}

/// Whether something in the options has to be known when the process is started.
fn needs_own_process(options: &SessionOptions) -> bool {
    let members = introduction::members(options);
    let needs_member = members.keys().any(|name| !CLAIMED_MEMBERS.contains(&name.as_str()));
    let has_files =
        !options.mcp_config.is_empty() || options.settings.is_some() || options.debug_file.is_some();
    needs_member
        || has_files
        // Raw logs have the name of the session.
        || options.log.is_some()
        || !options.hooks.is_empty()
        || !options.mcp_servers.is_empty()
        || options.sandbox.is_some()
        || options.user.is_some()
        || options.transport != Transport::Pipe
        || !options.keep_process
        || !options.handshake
}

fn kind(options: &SessionOptions, launch: &Launch) -> Kind {
    let is_common = |argument: &&OsString| {
        let name = argument.as_encoded_bytes().split(|byte| *byte == b'=').next();
        !CLAIMED.iter().any(|claimed| name == Some(claimed.as_bytes()))
    };
    let args: Vec<OsString> = launch.args.iter().filter(is_common).cloned().collect();
    let launch = Launch { args, cwd: None, directory: None, needs: Vec::new(), ..launch.clone() };
    let mut hasher = DefaultHasher::new();
    (&launch.program, &launch.args, &launch.environment.resolve(std::env::vars_os())).hash(&mut hasher);
    (&launch.secrets, &launch.state_directory, launch.line_limit).hash(&mut hasher);
    options.subagent_text.hash(&mut hasher);
    // An update replaces the file.
    let changed = std::fs::metadata(&launch.program).and_then(|about| about.modified()).ok();
    changed.hash(&mut hasher);
    Kind { key: hasher.finish(), launch, subagent_text: options.subagent_text }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use weir_process::{Directory, Version};

    fn wanted(options: &SessionOptions) -> Option<Wanted> {
        let folder = options.cwd.clone().unwrap_or_else(std::env::temp_dir);
        let mut launch = Launch::new("/bin/claude").args(["--print", "--model=opus", "--session-id=x"]);
        launch.args.extend(options.spec.max_turns.map(|turns| format!("--max-turns={turns}").into()));
        launch.directory = Some(Directory::open(&folder).unwrap());
        let known = Capabilities::of(Version::new(2, 1, 325));
        Wanted::of(options, &Spawn::default(), &launch, Some(&known))
    }

    #[test]
    fn sessions_in_different_folders_with_different_prompts_are_of_one_kind() {
        let one = wanted(&SessionOptions::new().cwd("/").model("opus").title("t")).unwrap();
        let other = wanted(&SessionOptions::new().append_system_prompt("x").permission_mode("plan")).unwrap();
        assert!(one.kind.is(&other.kind));
        assert_eq!(one.claim["title"], "t");
        assert_eq!(one.claim["permission_mode"], "default");
        assert_eq!(other.claim["permission_mode"], "plan");
        assert_eq!(other.claim["append_system_prompt"], "x");
        assert_eq!((one.requests().len(), other.requests().len()), (2, 1));
        let args = one.kind.launch("id", "/spare".into()).args;
        assert_eq!(args, ["--print", "--await-claim", "--session-id=id"]);
        let longer = wanted(&SessionOptions::new().max_turns(3u32)).unwrap();
        assert!(!one.kind.is(&longer.kind));
    }

    #[test]
    fn a_session_that_needs_its_own_process_takes_no_spare() {
        for options in [
            SessionOptions::new().output_schema(json!({"type": "object"})),
            SessionOptions::new().debug_file("/log"),
            SessionOptions::new().resume("id"),
            SessionOptions::new().keep_process(false),
        ] {
            assert!(wanted(&options).is_none(), "{options:?}");
        }
        let options = SessionOptions::new();
        let mut launch = Launch::new("/bin/claude");
        launch.directory = Some(Directory::open(Path::new("/")).unwrap());
        let old = Capabilities::of(Version::new(2, 1, 197));
        assert!(Wanted::of(&options, &Spawn::default(), &launch, Some(&old)).is_none());
    }
}
