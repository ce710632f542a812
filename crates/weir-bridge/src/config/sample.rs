//! The configuration that `weir bridge init` writes.

/// A commented configuration in which nothing is switched on but the workspace.
pub const SAMPLE: &str = r#"# The chat bridge of Weir. Paths begin at the folder of this file.
# Secrets never stand here: name a file or a variable of the environment.

# Where messages and conversations are kept. Usually in the state folder of Weir.
# data_dir = "data"

# The CLI to drive. It is looked for where none is named.
# claude = "/usr/local/bin/claude"

# Folders below which /cd may go. The workspaces are always among them.
# roots = ["/home/me/projects"]

[defaults]
# The folder in which the agent works.
workspace = "workspace"
# Who shares a conversation: "chat" (everybody in it), "thread", or "user" (each alone).
scope = "chat"
# Messages while a turn runs: "collect" (they wait and become one prompt), "steer" (they go into the turn),
# "followup" (they wait and each becomes a prompt), "interrupt" (they end the turn).
queue = "collect"
# How long it has to be quiet before collected messages become a prompt.
debounce_ms = 1000
# What is read in groups: "addressed" (mentions and replies) or "all".
groups = "addressed"
# model = "sonnet"
# The models that /model may choose. Without a list any can be chosen.
# models = ["sonnet", "haiku"]
# "default" (people are asked), "acceptEdits", "plan" or "dontAsk". Nobody can change it from a chat.
# permission_mode = "default"
# The tools that there are. What is not named does not exist for the agent, whatever is allowed; without a list it has all.
# tools = ["Read", "Glob", "Grep", "Edit", "Bash"]
# Tools that are used without asking. Nobody can add to them from a chat.
# allowed_tools = ["Read", "Bash(git status:*)"]
# disallowed_tools = ["WebFetch"]
# People may allow what the CLI suggests until the session ends. With false they allow each call by itself.
# allow_for_session = true
# append_system_prompt = "You talk in a chat: be brief."
# Most that one conversation may cost, in dollars, by the CLI's estimate.
# max_cost_usd = 5.0
# With true the CLI keeps nothing of a conversation on disk. It ends with its process, and /new begins another one.
# no_session_persistence = false
# A line with cost, tokens and time below each answer.
footer = false
# A live line tells which tool is at work.
show_tools = true
# Pictures of the agent in the chat: "tools" (those that tools give back), "named" (also files that it wrote and that
# its answer names), or "none".
pictures = "tools"

# Other settings for one channel, one chat of it, one thread (scope = "thread") or one person (scope = "user"). The
# first that fits holds.
# [[scopes]]
# channel = "telegram"
# chat = "-1001234567890"
# thread = "7"
# scope = "thread"
# workspace = "other"

# Who may talk to the agent. Others can be let in with `weir bridge pair`.
# [[people]]
# channel = "telegram"
# id = "123456789"
# role = "admin"

[limits]
# Messages of one sender.
messages_per_minute = 30
messages_per_ten_minutes = 120
# How long a person has to answer a question of the agent; after that it is denied.
ask_timeout_minutes = 10
# How long files that came with a message may take; what is not there by then is left out.
# download_timeout_seconds = 120
# Only administrators may allow tools.
only_admins_allow = false
# Pictures of the agent in one turn that are shown.
# most_pictures = 5

# An account on Matrix, if Weir was built with it (`--features matrix`). See docs/bridge.md.
# [matrix]
# homeserver = "https://matrix.example.org"
# user = "@weir:example.org"
# password = { file = "matrix-password" }

# A bot of @BotFather. Its privacy mode decides what it sees in groups.
# [telegram]
# token = { file = "telegram-token" }

# Signed JSON in and out, for everything else. See docs/bridge.md.
# [webhook]
# listen = "127.0.0.1:8787"
# url = "https://example.org/weir"
# secret = { env = "WEIR_WEBHOOK_SECRET" }
"#;
