//! The configuration that `weir bridge init` writes.

/// A commented configuration in which no channel is enabled.
pub const SAMPLE: &str = r#"# The chat bridge of Weir. Paths are relative to the folder of this file.
# Secrets are never written here: name a file or an environment variable instead.

# Folder for messages and sessions. By default in Weir's state folder.
# data_dir = "data"

# The CLI to use. Found automatically if not set.
# claude = "/usr/local/bin/claude"

# Folders in which /cd may change folders. The workspaces are always included.
# roots = ["/home/me/projects"]

[defaults]
# The folder in which the agent works.
workspace = "workspace"
# Who shares a session: "chat" (everyone in it), "thread", or "user" (each person alone).
scope = "chat"
# Messages while a turn runs: "collect" (they wait and become one prompt), "steer" (they are added to the turn),
# "followup" (they wait and each becomes a prompt), "interrupt" (they interrupt the turn).
queue = "collect"
# How long to wait for more messages before collected messages become a prompt.
debounce_ms = 1000
# Which messages are read in groups: "addressed" (mentions and replies) or "all".
groups = "addressed"
# model = "sonnet"
# The models that /model may choose. Without a list, any model.
# models = ["sonnet", "haiku"]
# "default" (people are asked), "acceptEdits", "plan" or "dontAsk". It cannot be changed from a chat.
# permission_mode = "default"
# The tools that the agent has. It has no others, whatever is allowed; without a list it has all.
# tools = ["Read", "Glob", "Grep", "Edit", "Bash"]
# Tools that are used without asking. The list cannot be extended from a chat.
# allowed_tools = ["Read", "Bash(git status:*)"]
# disallowed_tools = ["WebFetch"]
# People may allow what the CLI suggests until the session ends. With false they allow each call separately.
# allow_for_session = true
# append_system_prompt = "You are talking in a chat: be brief."
# Maximum cost of a session in dollars, by the CLI's estimate.
# max_cost_usd = 5.0
# With true the CLI keeps sessions off the disk. A session ends with its process, and /new starts another one.
# no_session_persistence = false
# Show cost, tokens and time below each answer.
footer = false
# Show which tool is running.
show_tools = true
# Pictures from the agent: "tools" (those that tools return), "named" (also files that it wrote and that its answer
# names), or "none".
pictures = "tools"

# Other settings for one channel, one chat of it, one thread (scope = "thread") or one person (scope = "user"). The
# first match applies.
# [[scopes]]
# channel = "telegram"
# chat = "-1001234567890"
# thread = "7"
# scope = "thread"
# workspace = "other"

# People who may talk to the agent. Others can be added with `weir bridge pair`.
# [[people]]
# channel = "telegram"
# id = "123456789"
# role = "admin"

[limits]
# Maximum number of messages per sender.
messages_per_minute = 30
messages_per_ten_minutes = 120
# How long people have to answer a request of the agent. After that it is denied.
ask_timeout_minutes = 10
# Time limit for downloading the files of a message. Files that take longer are left out.
# download_timeout_seconds = 120
# Only administrators may allow tools.
only_admins_allow = false
# Maximum number of pictures shown per turn.
# max_pictures = 5

# An account on Matrix, if Weir was built with it (`--features matrix`). See docs/bridge.md.
# [matrix]
# homeserver = "https://matrix.example.org"
# user = "@weir:example.org"
# password = { file = "matrix-password" }

# A bot made with @BotFather. Its privacy mode decides what it sees in groups.
# [telegram]
# token = { file = "telegram-token" }

# Signed JSON in and out, for everything else. See docs/bridge.md.
# [webhook]
# listen = "127.0.0.1:8787"
# url = "https://example.org/weir"
# secret = { env = "WEIR_WEBHOOK_SECRET" }
"#;
