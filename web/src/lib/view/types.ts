// Written by the tests of weir-transcript from its types. Do not edit.
export type QuestionOption = { label: string; description?: string };
export type Question = { question: string; header?: string; options?: Array<QuestionOption>; multiSelect?: boolean };
export type JsonValue = unknown;
export type SessionId = string;
export type ToolUseId = string;
export type MessageId = string;
export type ApiMessageId = string;
export type RequestId = string;
export type TaskId = string;
export type TurnId = number;
export type OwnedText = string;
export type OwnedJson = unknown;
export type View = { 
/**
 * Which conversation, and with what.
 */
session: Session, 
/**
 * What it is doing.
 */
status: Status, 
/**
 * What was said and done, in order, all agents together. Numbers are without gaps. Shared, so that taking a
 * snapshot of a long conversation copies pointers and not texts.
 */
entries: Array<Entry>, 
/**
 * The turns, in the order in which they began.
 */
turns: Array<Turn>, 
/**
 * The sub-agents; each names its parent.
 */
agents: Array<Agent>, 
/**
 * What runs in the background.
 */
tasks: Array<BackgroundTask>, 
/**
 * What the CLI asks a person: open and answered.
 */
requests: Array<Request>, 
/**
 * Things to do, a list for each agent that keeps one.
 */
todos: Array<TodoList>, 
/**
 * Files that were changed, in order.
 */
files: Array<FileChange>, 
/**
 * What it has cost.
 */
cost: Cost, 
/**
 * The account's limit, as last heard.
 */
rate_limit?: RateLimit | null, 
/**
 * How many lines were not as expected.
 */
oddities: Oddities, 
/**
 * How many entries were dropped from the front because the view is bounded.
 */
dropped_entries: number, };
export type Session = { 
/**
 * The CLI's name for it.
 */
id?: SessionId | null, 
/**
 * Its title.
 */
title?: string | null, 
/**
 * The model.
 */
model?: string | null, 
/**
 * The CLI's version.
 */
version?: string | null, 
/**
 * Where it works.
 */
cwd?: string | null, 
/**
 * What is allowed without asking.
 */
permission_mode?: string | null, 
/**
 * Who pays: where the key comes from.
 */
api_key_source?: string | null, 
/**
 * The tools that the model has.
 */
tools: Array<string>, 
/**
 * The MCP servers and how they are.
 */
mcp_servers: Array<McpServer>, 
/**
 * The slash commands that work.
 */
slash_commands: Array<string>, 
/**
 * Set where the id changed during the conversation, and not by a reset that somebody asked for.
 */
forked: boolean, };
export type McpServer = { 
/**
 * Its name.
 */
name: string, 
/**
 * `connected`, `failed`, `needs-auth` and the like.
 */
status: string, };
export type Status = { "state": "starting" } | { "state": "idle" } | { "state": "running" } | { "state": "compacting" } | { "state": "waiting_for_person" } | { "state": "background" } | { "state": "ended" };
export type RateLimit = { 
/**
 * `allowed`, `allowed_warning` or `rejected`.
 */
status: string, 
/**
 * When it is lifted, in seconds since 1970.
 */
resets_at?: number | null, 
/**
 * Which limit.
 */
limit?: string | null, 
/**
 * How much is used: one is all of it.
 */
utilization?: number | null, };
export type Oddities = { 
/**
 * Types of line that Weir does not know.
 */
unknown_types: number, 
/**
 * Known types of line that do not fit.
 */
mismatches: number, 
/**
 * Lines that are not JSON.
 */
not_json: number, 
/**
 * Lines that are too long.
 */
oversize: number, 
/**
 * Content blocks and stream events that are unknown or do not fit.
 */
blocks: number, };
export type EntryId = number;
export type Entry = { 
/**
 * Its number.
 */
id: EntryId, 
/**
 * The turn that it belongs to.
 */
turn?: TurnId | null, 
/**
 * The sub-agent that it belongs to; none for the main agent.
 */
parent?: ToolUseId | null, 
/**
 * When, in milliseconds since 1970, where that is known.
 */
at?: number | null, 
/**
 * What.
 */
body: EntryBody, };
export type EntryBody = { "kind": "user" } & UserEntry | { "kind": "text" } & TextEntry | { "kind": "thinking" } & ThinkingEntry | { "kind": "tool" } & ToolCall | { "kind": "hook" } & HookRun | { "kind": "notice", 
/**
 * What.
 */
notice: Notice, } | { "kind": "unknown" } & UnknownEntry;
export type UserEntry = { 
/**
 * Our id for it.
 */
message?: MessageId | null, 
/**
 * What it says.
 */
text: string, 
/**
 * How many pictures are with it.
 */
images: number, 
/**
 * Who wrote it.
 */
source: UserSource, 
/**
 * What has become of it.
 */
delivery: Delivery, };
export type UserSource = "host" | "agent" | "cli";
export type Delivery = "queued" | "sent" | "started" | "answered" | "cancelled" | "indeterminate";
export type TextEntry = { 
/**
 * The API's message that it is a block of.
 */
message?: ApiMessageId | null, 
/**
 * Its place among the blocks of that message, where that is known.
 */
index?: number | null, 
/**
 * The text so far.
 */
text: string, 
/**
 * Whether more is coming.
 */
state: BlockState, 
/**
 * The fenced code blocks in the text, once it is complete.
 */
code?: Array<CodeBlock> | null, 
/**
 * The error that the text tells of, where the CLI wrote it in place of the model.
 */
error?: ApiError | null, };
export type ThinkingEntry = { 
/**
 * The API's message that it is a block of.
 */
message?: ApiMessageId | null, 
/**
 * Its place among the blocks of that message, where that is known.
 */
index?: number | null, 
/**
 * The text so far; may stay empty.
 */
text: string, 
/**
 * Whether more is coming.
 */
state: BlockState, 
/**
 * Whether the text is sealed.
 */
redacted: boolean, };
export type BlockState = "streaming" | "complete" | "aborted";
export type CodeBlock = { 
/**
 * The word after the fence, if there is one.
 */
language?: string | null, 
/**
 * Where the code begins in the text, in bytes.
 */
start: number, 
/**
 * Where it ends.
 */
end: number, };
export type ApiError = { 
/**
 * The error in a word, such as `rate_limit`.
 */
error?: string | null, 
/**
 * The HTTP status.
 */
status?: number | null, 
/**
 * The API's name for it, such as `overloaded_error`.
 */
api_type?: string | null, };
export type UnknownEntry = { 
/**
 * What about it is not understood.
 */
reason: UnknownReason, 
/**
 * Its type, with the subtype after a slash, if it has one.
 */
type_name?: string | null, 
/**
 * What does not fit, in words.
 */
detail?: string | null, 
/**
 * Its bytes as text, cut to a bounded length.
 */
raw: string, 
/**
 * How many bytes it has.
 */
bytes: number, 
/**
 * The number of its line, counted from one over all lines that were folded: the whole is there, in the log.
 */
line: number, };
export type UnknownReason = "unknown_type" | "mismatch" | "not_json" | "oversize" | "unknown_block" | "block_mismatch";
export type Notice = { "type": "api_retry", 
/**
 * Which try comes next.
 */
attempt: number, 
/**
 * How many tries there are.
 */
max_retries: number | null, 
/**
 * How long it waits before, in milliseconds.
 */
delay_ms: number | null, 
/**
 * The HTTP status.
 */
status: number | null, 
/**
 * The error in a word.
 */
error: string | null, } | { "type": "rate_limit", 
/**
 * `allowed`, `allowed_warning` or `rejected`.
 */
status: string, 
/**
 * When it is lifted, in seconds since 1970.
 */
resets_at: number | null, 
/**
 * Which limit.
 */
limit: string | null, } | { "type": "compaction", 
/**
 * `manual` or `auto`.
 */
trigger: string | null, 
/**
 * Tokens before.
 */
pre_tokens: number | null, 
/**
 * Tokens after.
 */
post_tokens: number | null, } | { "type": "interrupted" } | { "type": "reset", 
/**
 * Why.
 */
trigger: string | null, } | { "type": "model_fallback", 
/**
 * The model before.
 */
from: string | null, 
/**
 * The model now.
 */
to: string | null, 
/**
 * What the CLI says about it.
 */
text: string | null, } | { "type": "command_output", 
/**
 * The text.
 */
text: string, } | { "type": "info", 
/**
 * How much it matters: `info`, `notice`, `suggestion`, `warning`, or a notification's priority.
 */
level: string | null, 
/**
 * The text.
 */
text: string, } | { "type": "tool_summary", 
/**
 * The sentence.
 */
text: string, 
/**
 * The calls.
 */
tools: Array<ToolUseId>, } | { "type": "login", 
/**
 * What it shows.
 */
text: string, 
/**
 * Why it failed.
 */
error: string | null, } | { "type": "process_ended", 
/**
 * Its exit code.
 */
code: number | null, 
/**
 * The signal that ended it.
 */
signal: number | null, 
/**
 * The last that it printed on its standard error.
 */
stderr: string, } | { "type": "error", 
/**
 * What went wrong.
 */
message: string, };
export type HookRun = { 
/**
 * Names the run.
 */
id: string, 
/**
 * The hook, such as `PreToolUse:Bash`.
 */
name: string, 
/**
 * The event, such as `PreToolUse`.
 */
event: string, 
/**
 * `success`, `error`, `cancelled`; none while it runs.
 */
outcome?: string | null, 
/**
 * How it exited.
 */
exit_code?: number | null, 
/**
 * What it printed, cut to a bounded length.
 */
output?: string | null, };
export type ToolCall = { 
/**
 * Names the call.
 */
id: ToolUseId, 
/**
 * The tool; empty while only its result is known.
 */
name: string, 
/**
 * What it does, in a line: the command, the file, the description.
 */
title: string, 
/**
 * The arguments, once they are complete.
 */
input: OwnedJson, 
/**
 * The arguments as they stream in: the beginning of a JSON text. Empty once they are complete.
 */
input_text?: string | null, 
/**
 * How far it is.
 */
state: ToolState, 
/**
 * Whether the API runs it and not the CLI.
 */
server: boolean, 
/**
 * The request for permission that it waited for.
 */
request?: RequestId | null, 
/**
 * What it gave back.
 */
output?: Output | null, 
/**
 * What the tool's kind has to say besides.
 */
detail: ToolDetail, 
/**
 * What it gave back for programs, where `detail` does not say it and it is not too long.
 */
structured?: OwnedJson | null, 
/**
 * When it began, in milliseconds since 1970.
 */
started_at?: number | null, 
/**
 * How long it took, or has taken so far.
 */
duration_ms?: number | null, };
export type ToolState = "pending" | "waiting_for_permission" | "running" | "succeeded" | "failed" | "denied" | "interrupted" | "unknown";
export type Output = { 
/**
 * The beginning, or all of it.
 */
text: OwnedText, 
/**
 * The end, where the middle was left out.
 */
tail?: OwnedText | null, 
/**
 * How many bytes it has in its line.
 */
bytes: number, 
/**
 * The number of that line, counted from one over all lines that were folded: the whole is there, in the log.
 */
line: number, 
/**
 * How many pictures are in it.
 */
images: number, };
export type ToolDetail = { "kind": "none" } | { "kind": "command", 
/**
 * What it printed on its standard error.
 */
stderr: string, 
/**
 * Whether it was ended early.
 */
interrupted: boolean, 
/**
 * The task that it became, where it goes on in the background.
 */
background_task: string | null, 
/**
 * Where all of its output is, if it was long.
 */
output_file: string | null, } | { "kind": "file_read", 
/**
 * The file.
 */
path: string, 
/**
 * The first line that was read.
 */
start_line: number | null, 
/**
 * How many lines were read.
 */
lines: number | null, 
/**
 * How many lines there are.
 */
total_lines: number | null, } | { "kind": "file_changed", 
/**
 * The file.
 */
path: string, 
/**
 * Lines that were added.
 */
added: number, 
/**
 * Lines that were removed.
 */
removed: number, } | { "kind": "questions", 
/**
 * The questions.
 */
questions: Array<Question>, 
/**
 * The answers: question to chosen label or labels.
 */
answers: JsonValue | null, } | { "kind": "plan", 
/**
 * The plan, in Markdown.
 */
text: string, 
/**
 * Where it is.
 */
file: string | null, } | { "kind": "agent" } | { "kind": "todos" };
export type FileChange = { 
/**
 * The file.
 */
path: string, 
/**
 * The tool call that changed it.
 */
tool: ToolUseId, 
/**
 * The entry of that tool call.
 */
entry: EntryId, 
/**
 * The turn in which that was.
 */
turn?: TurnId | null, 
/**
 * How.
 */
kind: FileChangeKind, 
/**
 * The difference, as a unified diff.
 */
diff: string, 
/**
 * Lines that were added.
 */
added: number, 
/**
 * Lines that were removed.
 */
removed: number, 
/**
 * Whether the line numbers are those of the file. They are not where the CLI gave only the arguments.
 */
exact: boolean, };
export type FileChangeKind = "created" | "overwritten" | "edited" | "written";
export type TodoList = { 
/**
 * The sub-agent that keeps the list; none for the main agent.
 */
agent?: ToolUseId | null, 
/**
 * The things.
 */
items: Array<Todo>, };
export type Todo = { 
/**
 * Its id, in the family of tools that has ids.
 */
id?: string | null, 
/**
 * What is to be done.
 */
text: string, 
/**
 * `pending`, `in_progress` or `completed`.
 */
status: string, 
/**
 * The same in words for while it is being done.
 */
active_form?: string | null, };
export type Turn = { 
/**
 * Its number.
 */
id: TurnId, 
/**
 * Who asked for it.
 */
cause: TurnCause, 
/**
 * The messages that it answers.
 */
messages?: Array<MessageId> | null, 
/**
 * How far it is.
 */
state: TurnState, 
/**
 * When it began, in milliseconds since 1970.
 */
started_at?: number | null, 
/**
 * Its result.
 */
result?: TurnResult | null, 
/**
 * What it cost, sub-agents included; none where that is not known.
 */
cost_usd?: number | null, 
/**
 * The same by model.
 */
models?: Array<ModelCost> | null, };
export type TurnCause = { "by": "message" } | { "by": "presumed" } | { "by": "unasked", 
/**
 * The CLI's word for it, such as `task-notification`.
 */
origin: string | null, };
export type TurnState = "running" | "succeeded" | "failed" | "interrupted" | "empty" | "degraded" | "lost";
export type TurnResult = { 
/**
 * `success` also where the API failed.
 */
subtype: string, 
/**
 * Whether the turn failed, whatever the subtype says.
 */
is_error: boolean, 
/**
 * The answer.
 */
text?: string | null, 
/**
 * Why it failed.
 */
errors?: Array<string> | null, 
/**
 * Why it ended, such as `completed`.
 */
terminal_reason?: string | null, 
/**
 * Why the model stopped.
 */
stop_reason?: string | null, 
/**
 * The HTTP status of the API error that ended it.
 */
api_error_status?: number | null, 
/**
 * Rounds with the model.
 */
num_turns?: number | null, 
/**
 * How long it took.
 */
duration_ms?: number | null, 
/**
 * How long the API took.
 */
duration_api_ms?: number | null, 
/**
 * Tokens of the main loop, without sub-agents.
 */
usage: TurnUsage, 
/**
 * Tool calls that were not allowed.
 */
denials?: Array<Denial> | null, 
/**
 * The answer in the form that was asked for.
 */
structured_output: JsonValue, };
export type TurnUsage = { 
/**
 * Tokens read that were in no cache.
 */
input_tokens: number, 
/**
 * Tokens written.
 */
output_tokens: number, 
/**
 * Tokens read from the cache.
 */
cache_read_input_tokens: number, 
/**
 * Tokens read and put into the cache.
 */
cache_creation_input_tokens: number, };
export type Denial = { 
/**
 * The tool.
 */
tool_name: string, 
/**
 * The call.
 */
tool_use_id?: ToolUseId | null, 
/**
 * Its arguments.
 */
tool_input: JsonValue, };
export type Agent = { 
/**
 * The tool call that started it, which is its name everywhere.
 */
id: ToolUseId, 
/**
 * The sub-agent that started it; none for the main agent.
 */
parent?: ToolUseId | null, 
/**
 * The entry at which it was first heard of.
 */
entry: EntryId, 
/**
 * The turn in which it was started.
 */
turn?: TurnId | null, 
/**
 * The CLI's name for its task.
 */
task?: TaskId | null, 
/**
 * What it is for.
 */
description: string, 
/**
 * The kind of sub-agent.
 */
agent_type?: string | null, 
/**
 * What it was asked.
 */
prompt?: string | null, 
/**
 * Whether the conversation goes on beside it.
 */
background: boolean, 
/**
 * How far it is.
 */
state: AgentState, 
/**
 * What it does now, and what it has used.
 */
progress: AgentProgress, 
/**
 * What came of it.
 */
summary?: string | null, };
export type AgentState = "running" | "completed" | "failed" | "stopped" | "unknown";
export type AgentProgress = { 
/**
 * What it does now.
 */
activity?: string | null, 
/**
 * The tool that it used last.
 */
last_tool?: string | null, 
/**
 * Tokens of all kinds.
 */
total_tokens?: number | null, 
/**
 * Tool calls.
 */
tool_uses?: number | null, 
/**
 * Time.
 */
duration_ms?: number | null, };
export type BackgroundTask = { 
/**
 * The CLI's name for it.
 */
id: TaskId, 
/**
 * `local_agent`, `local_bash` and the like.
 */
task_type?: string | null, 
/**
 * What it is for.
 */
description: string, };
export type Request = { 
/**
 * Names the request; the answer carries it.
 */
id: RequestId, 
/**
 * The entry at which it came.
 */
entry: EntryId, 
/**
 * The turn in which it came.
 */
turn?: TurnId | null, 
/**
 * The tool call that waits.
 */
tool?: ToolUseId | null, 
/**
 * The sub-agent that asks; none for the main agent.
 */
parent?: ToolUseId | null, 
/**
 * What it asks.
 */
kind: RequestKind, 
/**
 * Whether it still waits.
 */
state: RequestState, };
export type RequestKind = { "kind": "permission", 
/**
 * The tool.
 */
tool_name: string, 
/**
 * Its arguments.
 */
input: JsonValue, 
/**
 * What the call is about, in a few words.
 */
description: string | null, 
/**
 * Why it is asked.
 */
reason: string | null, 
/**
 * The path outside the allowed folders.
 */
blocked_path: string | null, 
/**
 * Rules that would let it pass from now on.
 */
suggestions: Array<JsonValue>, } | { "kind": "question", 
/**
 * The questions.
 */
questions: Array<Question>, 
/**
 * The arguments of the tool call, which the answer repeats.
 */
input: JsonValue, } | { "kind": "plan", 
/**
 * The plan, in Markdown.
 */
plan: string | null, 
/**
 * The arguments of the tool call.
 */
input: JsonValue, } | { "kind": "elicitation", 
/**
 * The server.
 */
server: string, 
/**
 * What it says.
 */
message: string, };
export type RequestState = { "state": "open" } | { "state": "allowed", 
/**
 * By whom.
 */
by: string | null, 
/**
 * The answers, for questions.
 */
answers: JsonValue | null, } | { "state": "denied", 
/**
 * By whom.
 */
by: string | null, 
/**
 * What the model was told.
 */
message: string | null, } | { "state": "expired" } | { "state": "cancelled" } | { "state": "settled" };
export type Cost = { 
/**
 * The sum of what the turns cost; none where no turn said so.
 */
usd?: number | null, 
/**
 * The CLI's own total, as last heard. It goes on over resumes and starts over after a reset.
 */
reported_usd?: number | null, 
/**
 * The same by model, sub-agents included.
 */
models: Array<ModelCost>, 
/**
 * How often the CLI's total started over.
 */
resets: number, };
export type ModelCost = { 
/**
 * The model.
 */
model: string, 
/**
 * Tokens read that were in no cache.
 */
input_tokens: number, 
/**
 * Tokens written.
 */
output_tokens: number, 
/**
 * Tokens read from the cache.
 */
cache_read_tokens: number, 
/**
 * Tokens read and put into the cache.
 */
cache_creation_tokens: number, 
/**
 * The estimate in dollars.
 */
usd: number, };
export type Change = { "change": "session" } & Session | { "change": "status", 
/**
 * What.
 */
status: Status, } | { "change": "entry_added" } & Entry | { "change": "entry_replaced" } & Entry | { "change": "text_appended", 
/**
 * The entry.
 */
entry: EntryId, 
/**
 * The text.
 */
text: string, } | { "change": "text_replaced", 
/**
 * The entry.
 */
entry: EntryId, 
/**
 * The whole text.
 */
text: string, } | { "change": "block_ended", 
/**
 * The entry.
 */
entry: EntryId, 
/**
 * How.
 */
state: BlockState, 
/**
 * The code blocks in it.
 */
code: Array<CodeBlock>, } | { "change": "input_appended", 
/**
 * The entry of the tool call.
 */
entry: EntryId, 
/**
 * A piece of a JSON text.
 */
json: string, } | { "change": "tool_state", 
/**
 * The entry of the tool call.
 */
entry: EntryId, 
/**
 * The state.
 */
state: ToolState, } | { "change": "tool_ended", 
/**
 * The entry of the tool call.
 */
entry: EntryId, 
/**
 * How it ended.
 */
state: ToolState, 
/**
 * What it gave back.
 */
output: Output, 
/**
 * What the tool's kind has to say besides, if that is new.
 */
detail: ToolDetail | null, 
/**
 * What it gave back for programs.
 */
structured: OwnedJson | null, 
/**
 * How long it took.
 */
duration_ms: number | null, } | { "change": "turn_added" } & Turn | { "change": "turn_replaced" } & Turn | { "change": "agent" } & Agent | { "change": "tasks", 
/**
 * The tasks.
 */
tasks: Array<BackgroundTask>, } | { "change": "request" } & Request | { "change": "todos" } & TodoList | { "change": "file_changed" } & FileChange | { "change": "cost" } & Cost | { "change": "rate_limit" } & RateLimit | { "change": "oddities" } & Oddities | { "change": "dropped", 
/**
 * The first entry that is kept.
 */
first_entry: EntryId, 
/**
 * The first of the newest turns, which are kept.
 */
first_turn: TurnId, 
/**
 * Older turns that are kept, because they are still open or something that is kept belongs to them.
 */
keep_turns: Array<TurnId>, 
/**
 * Sub-agents that are kept although they were started earlier, because they still run.
 */
keep_agents: Array<ToolUseId>, 
/**
 * Most sub-agents, requests and files that are kept, the newest of each.
 */
most: number, };
