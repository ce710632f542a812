// Written by `npm run types` from openapi.json. Do not edit.

export type Accepted = {
  duplicate: boolean;
  message_id: string;
  state: MessageState;
};

export type Agent = {
  agent_type?: string | null;
  background: boolean;
  description: string;
  entry: EntryId;
  id: ToolUseId;
  parent?: ToolUseId | null;
  progress: AgentProgress;
  prompt?: string | null;
  state: AgentState;
  summary?: string | null;
  task?: TaskId | null;
  turn?: TurnId | null;
};

export type AgentEvent = AgentEventKind & ({
  parent_tool_use_id?: ToolUseId | null;
  session_id?: CliSessionId | null;
  turn_id?: TurnId | null;
});

export type AgentEventKind = ({
  resumes?: CliSessionId | null;
  type: "agent-process-start";
}) | ({
  code?: number | null;
  signal?: number | null;
  stderr: string;
  type: "agent-process-end";
  wanted: boolean;
}) | ({
  cause: TurnCause;
  cwd?: string | null;
  messages: Array<MessageId>;
  model?: string | null;
  tools: Array<string>;
  type: "agent-message-start";
}) | ({
  entry: EntryId;
  is_error?: boolean;
  message_id?: ApiMessageId | null;
  replaces?: boolean;
  text: string;
  type: "agent-text-delta";
}) | {
  entry: EntryId;
  replaces?: boolean;
  text: string;
  type: "agent-thinking-delta";
} | {
  input: Json;
  name: string;
  title: string;
  tool_use_id: ToolUseId;
  type: "agent-tool-start";
} | ({
  detail: ToolDetail;
  duration_ms?: number | null;
  is_error: boolean;
  name: string;
  output?: Output | null;
  state: ToolState;
  tool_use_id: ToolUseId;
  type: "agent-tool-end";
}) | ({
  request: RequestKind;
  request_id?: RequestId | null;
  state: RequestState;
  tool_use_id?: ToolUseId | null;
  type: "agent-question";
}) | ({
  request: RequestKind;
  request_id: RequestId;
  state: RequestState;
  tool_use_id?: ToolUseId | null;
  type: "agent-permission";
}) | ({
  input: unknown;
  name: string;
  request_id: RequestId;
  state: RequestState;
  tool_use_id?: ToolUseId | null;
  type: "agent-tool-request";
}) | {
  items: Array<Todo>;
  type: "agent-todos";
} | ({
  agent_type?: string | null;
  background: boolean;
  description: string;
  tool_use_id: ToolUseId;
  type: "agent-subagent-start";
}) | ({
  agent_type?: string | null;
  background: boolean;
  description: string;
  tool_use_id: ToolUseId;
  type: "agent-subagent-update";
}) | ({
  progress: AgentProgress;
  state: AgentState;
  summary?: string | null;
  tool_use_id: ToolUseId;
  type: "agent-subagent-end";
}) | {
  text: string;
  type: "agent-output";
} | {
  message: string;
  type: "agent-error";
} | ({
  cost_usd?: number | null;
  degraded?: boolean;
  duration_ms?: number | null;
  is_error: boolean;
  messages: Array<MessageId>;
  models: Array<ModelCost>;
  num_turns?: number | null;
  permission_denials: Array<Denial>;
  state: TurnState;
  subtype?: string | null;
  text?: string | null;
  total_cost_usd?: number | null;
  type: "agent-message-end";
  usage?: TokenUsage | null;
});

export type AgentProgress = {
  activity?: string | null;
  duration_ms?: number | null;
  last_tool?: string | null;
  tool_uses?: number | null;
  total_tokens?: number | null;
};

export type AgentState = "running" | "completed" | "failed" | "stopped" | "unknown";

export type AnswerElicitation = {
  action: ElicitationAction;
  content?: Record<string, unknown> | null;
};

export type AnswerPermission = {
  behavior: Behavior;
  interrupt?: boolean | null;
  message?: string | null;
  permission_mode?: string | null;
  remember?: Array<Remember>;
  updated_input?: Record<string, unknown> | null;
};

export type AnswerQuestion = {
  answers?: Record<string, Choice> | null;
  decline?: string | null;
};

export type Answered = {
  answered_by: string;
  request_id: string;
};

export type ApiError = {
  api_type?: string | null;
  error?: string | null;
  status?: number | null;
};

export type ApiMessageId = string;

export type AskRule = {
  rule_content?: string | null;
  source?: string | null;
  tool_name: string;
};

export type AuditEntry = {
  action: string;
  at: number;
  detail?: string | null;
  peer?: string | null;
  request: string;
  session?: string | null;
  status: number;
  token?: string | null;
  who?: string | null;
};

export type AuditPage = {
  entries: Array<AuditEntry>;
  next_before?: number | null;
};

export type BackgroundTask = {
  description: string;
  id: TaskId;
  task_type?: string | null;
};

export type Behavior = "allow" | "deny";

export type BlockState = "streaming" | "complete" | "aborted";

export type ByeEvent = {
  reason: string;
};

export type CancelledMessage = {
  message_id: string;
  state: MessageState;
};

export type Change = (Session & {
  change: "session";
}) | {
  change: "status";
  status: Status;
} | (Entry & {
  change: "entry_added";
}) | (Entry & {
  change: "entry_replaced";
}) | {
  change: "text_appended";
  entry: EntryId;
  text: string;
} | {
  change: "text_replaced";
  entry: EntryId;
  text: string;
} | {
  change: "block_ended";
  code: Array<CodeBlock>;
  entry: EntryId;
  state: BlockState;
} | {
  change: "input_appended";
  entry: EntryId;
  json: string;
} | {
  change: "tool_state";
  entry: EntryId;
  state: ToolState;
} | ({
  change: "tool_ended";
  detail?: ToolDetail | null;
  duration_ms?: number | null;
  entry: EntryId;
  output: Output;
  state: ToolState;
  structured?: Json | null;
}) | (Turn & {
  change: "turn_added";
}) | (Turn & {
  change: "turn_replaced";
}) | (Agent & {
  change: "agent";
}) | {
  change: "tasks";
  tasks: Array<BackgroundTask>;
} | (Request & {
  change: "request";
}) | (TodoList & {
  change: "todos";
}) | (FileChange & {
  change: "file_changed";
}) | (Cost & {
  change: "cost";
}) | (MessageUsage & {
  change: "message_used";
}) | (RateLimit & {
  change: "rate_limit";
}) | (Oddities & {
  change: "oddities";
}) | {
  change: "dropped";
  first_entry: EntryId;
  first_turn: TurnId;
  keep_agents: Array<ToolUseId>;
  keep_turns: Array<TurnId>;
  most: number;
};

export type ChangeSession = {
  archived?: boolean | null;
  name?: string | null;
  pinned?: boolean | null;
};

export type ChangesEvent = {
  changes: Array<Change>;
  seq: number;
};

export type ChatAnswer = {
  content?: string | null;
  reasoning_content?: string | null;
  refusal?: string | null;
  role: string;
  tool_calls?: Array<ChatCall> | null;
};

export type ChatCall = {
  function: ChatFunction;
  id: string;
  type: string;
};

export type ChatChoice = {
  finish_reason: string;
  index: number;
  message: ChatAnswer;
};

export type ChatCompletion = {
  choices: Array<ChatChoice>;
  created: number;
  id: string;
  model: string;
  object: string;
  usage: ChatUsage;
};

export type ChatContent = string | Array<ContentPart>;

export type ChatFunction = {
  arguments: string;
  name: string;
};

export type ChatMessage = {
  content: ChatContent;
  role: ChatRole;
};

export type ChatRequest = {
  messages: Array<ChatMessage>;
  model: string;
  response_format?: ResponseFormat | null;
  stream?: boolean | null;
  stream_options?: StreamOptions | null;
};

export type ChatRole = "system" | "developer" | "user" | "assistant" | "tool";

export type ChatUsage = {
  completion_tokens: number;
  prompt_tokens: number;
  total_tokens: number;
};

export type Choice = string | Array<string>;

export type ClassicData = ClassicSystem | ClassicText | ClassicToolUse | ClassicToolResult | ClassicResult | ClassicError | ClassicDone | ClassicStderr;

export type ClassicDone = {
  session_id?: CliSessionId | null;
  turn_id?: TurnId | null;
};

export type ClassicError = {
  message: string;
  parent_tool_use_id?: ToolUseId | null;
  turn_id?: TurnId | null;
};

export type ClassicEvent = {
  data: ClassicData;
  event: string;
};

export type ClassicResult = {
  cost_usd?: number | null;
  degraded: boolean;
  duration_ms?: number | null;
  is_error: boolean;
  messages: Array<MessageId>;
  models: Array<ModelCost>;
  num_turns?: number | null;
  permission_denials: Array<Denial>;
  result?: string | null;
  session_id?: CliSessionId | null;
  state: TurnState;
  subtype?: string | null;
  total_cost_usd?: number | null;
  turn_id: TurnId;
  usage?: TokenUsage | null;
};

export type ClassicSession = {
  cwd?: string | null;
  model?: string | null;
  permission_mode?: string | null;
  plugins: Array<Plugin>;
  session_id?: CliSessionId | null;
  skills: Array<string>;
  tools: Array<string>;
  version?: string | null;
};

export type ClassicStderr = {
  text: string;
};

export type ClassicSystem = (ClassicSession & {
  subtype: "init";
}) | (ClassicSession & {
  subtype: "session";
}) | ({
  resumes?: CliSessionId | null;
  subtype: "process_started";
}) | ({
  code?: number | null;
  signal?: number | null;
  subtype: "process_ended";
  wanted: boolean;
}) | ({
  request: RequestKind;
  request_id?: RequestId | null;
  state: RequestState;
  subtype: "request";
  tool_use_id?: ToolUseId | null;
}) | {
  agent: Agent;
  subtype: "subagent_started";
} | {
  agent: Agent;
  subtype: "subagent_updated";
} | {
  agent: Agent;
  subtype: "subagent_ended";
} | {
  subtype: "todos";
  todos: TodoList;
} | {
  notice: Notice;
  subtype: "notice";
};

export type ClassicText = {
  parent_tool_use_id?: ToolUseId | null;
  replaces?: boolean;
  source?: ClassicTextSource | null;
  text: string;
  turn_id?: TurnId | null;
};

export type ClassicTextSource = "cli";

export type ClassicToolResult = {
  is_error: boolean;
  name: string;
  output?: Output | null;
  parent_tool_use_id?: ToolUseId | null;
  state: ToolState;
  tool_use_id: ToolUseId;
  turn_id?: TurnId | null;
};

export type ClassicToolUse = {
  id: ToolUseId;
  input: Json;
  name: string;
  parent_tool_use_id?: ToolUseId | null;
  turn_id?: TurnId | null;
};

export type CliSessionId = string;

export type ClientTool = {
  description: string;
  input_schema: Record<string, unknown>;
  name: string;
};

export type ClientTools = {
  timeout_s?: number | null;
  tools?: Array<ClientTool>;
};

export type CodeBlock = {
  end: number;
  language?: string | null;
  start: number;
};

export type ContentKind = "text" | "image_url" | "input_text" | "input_image";

export type ContentPart = {
  image_url?: ImageAddress | null;
  text?: string | null;
  type: ContentKind;
};

export type Cost = {
  models: Array<ModelCost>;
  reported_usd?: number | null;
  resets: number;
  usd?: number | null;
};

export type CreateSession = {
  allowed_tools?: Array<string>;
  append_system_prompt?: string | null;
  ask_timeout_s?: number | null;
  client_tools?: ClientTools;
  cwd: string;
  disallowed_tools?: Array<string>;
  key?: string | null;
  max_cost_usd?: number | null;
  max_turns?: number | null;
  model?: string | null;
  name?: string | null;
  no_session_persistence?: boolean;
  output_schema?: Record<string, unknown> | null;
  permission_mode?: string | null;
  system_prompt?: string | null;
  tools?: Array<string> | null;
};

export type CreateToken = {
  expires_in_s?: number | null;
  max_cost_usd?: number | null;
  name: string;
  requests_per_minute?: number | null;
  role: Role;
  session?: string | null;
};

export type CreatedToken = TokenInfo & {
  token: string;
};

export type Delivery = "queued" | "sent" | "started" | "answered" | "cancelled" | "failed" | "indeterminate";

export type Denial = {
  tool_input?: unknown;
  tool_name: string;
  tool_use_id?: ToolUseId | null;
};

export type DirectoriesUpdate = {
  destination?: RuleDestination | null;
  directories: Array<string>;
};

export type ElicitationAction = "accept" | "decline" | "cancel";

export type Entry = {
  at?: number | null;
  body: EntryBody;
  id: EntryId;
  parent?: ToolUseId | null;
  turn?: TurnId | null;
};

export type EntryBody = (UserEntry & {
  kind: "user";
}) | (TextEntry & {
  kind: "text";
}) | (ThinkingEntry & {
  kind: "thinking";
}) | (ToolCall & {
  kind: "tool";
}) | (HookRun & {
  kind: "hook";
}) | {
  kind: "notice";
  notice: Notice;
} | (UnknownEntry & {
  kind: "unknown";
});

export type EntryId = number;

export type EventFormat = "view" | "agent" | "classic" | "raw";

export type ExportFormat = "html" | "md" | "ndjson";

export type FieldKind = ({
  format?: string | null;
  max_length?: number | null;
  min_length?: number | null;
  type: "text";
}) | ({
  integer: boolean;
  maximum?: number | null;
  minimum?: number | null;
  type: "number";
}) | {
  type: "boolean";
} | {
  options: Array<FormOption>;
  type: "choice";
} | ({
  max_items?: number | null;
  min_items?: number | null;
  options: Array<FormOption>;
  type: "choices";
});

export type FileChange = {
  added: number;
  diff: string;
  entry: EntryId;
  exact: boolean;
  kind: FileChangeKind;
  path: string;
  removed: number;
  tool: ToolUseId;
  turn?: TurnId | null;
};

export type FileChangeKind = "created" | "overwritten" | "edited" | "written";

export type FileDiff = {
  additions: number;
  deletions: number;
  kind: string;
  path: string;
  unified: string;
};

export type FileEffect = "creates" | "replaces" | "edits";

export type FileList = {
  files: Array<string>;
};

export type FilePreview = {
  added: number;
  cut: boolean;
  diff?: string | null;
  effect: FileEffect;
  path: string;
  reason?: string | null;
  removed: number;
};

export type Finding = {
  file: string;
  kind: FindingKind;
  what: string;
};

export type FindingKind = "hook" | "credential" | "mcp_server" | "environment" | "git" | "git_hook" | "permission" | "setting" | "plugin" | "command" | "unreadable" | "instructions";

export type Findings = {
  fingerprint: string;
  inherited: string;
  items: Array<Finding>;
  more: number;
};

export type Folder = FolderReport & {
  seal: string;
};

export type FolderReport = {
  cwd: string;
  findings: Findings;
  standing: Standing;
};

export type ForkSession = {
  name?: string | null;
};

export type FormField = {
  default?: unknown;
  description?: string | null;
  kind: FieldKind;
  label: string;
  name: string;
  required: boolean;
};

export type FormOption = {
  label: string;
  value: string;
};

export type FormatKind = "text" | "json_object" | "json_schema";

export type Health = {
  detail?: string | null;
  reasons?: Array<string>;
  status: string;
};

export type HeartbeatEvent = {
  at: number;
};

export type HelloEvent = {
  epoch: string;
  heartbeat_ms?: number | null;
  resume: ResumeKind;
  seq: number;
};

export type HookRun = {
  event: string;
  exit_code?: number | null;
  id: string;
  name: string;
  outcome?: string | null;
  output?: string;
};

export type Image = {
  data: string;
  media_type: string;
};

export type ImageAddress = {
  url: string;
};

export type Interrupted = {
  interrupted: boolean;
};

export type Json = unknown;

export type McpServer = {
  name: string;
  status: string;
};

export type McpServerName = {
  name: string;
  source?: string | null;
};

export type Me = {
  budget_left_usd?: number | null;
  demo: boolean;
  expires_at?: number | null;
  models: Array<string>;
  name: string;
  permission_modes: Array<string>;
  role: Role;
  roots: Array<string>;
  sandbox: boolean;
  session?: string | null;
  slash_commands: Array<string>;
  version: string;
};

export type MessageEventFormat = "agent" | "classic";

export type MessageId = string;

export type MessageInfo = {
  at: number;
  by: string;
  client_id?: string | null;
  error?: string | null;
  held: boolean;
  images: number;
  message_id: string;
  mode: MessageMode;
  state: MessageState;
  text: string;
};

export type MessageList = {
  messages: Array<MessageInfo>;
};

export type MessageMode = "queue" | "steer";

export type MessageOutcome = {
  cost_usd?: number | null;
  degraded?: boolean;
  error?: string | null;
  message_id: string;
  state: MessageState;
  text: string;
};

export type MessageState = "queued" | "sent" | "answered" | "cancelled" | "failed" | "indeterminate";

export type MessageUsage = {
  entry: EntryId;
  message: ApiMessageId;
  model?: string | null;
  parent?: ToolUseId | null;
  turn?: TurnId | null;
  usage: TokenUsage;
};

export type MessagesEvent = {
  messages: Array<MessageInfo>;
};

export type ModeUpdate = {
  destination?: RuleDestination | null;
  mode: string;
};

export type ModelCost = {
  cache_creation_tokens: number;
  cache_read_tokens: number;
  input_tokens: number;
  model: string;
  output_tokens: number;
  usd: number;
};

export type ModelEntry = {
  created: number;
  id: string;
  object: string;
  owned_by: string;
};

export type ModelList = {
  data: Array<ModelEntry>;
  object: string;
};

export type NamedSchema = {
  name?: string | null;
  schema: Record<string, unknown>;
};

export type Notice = ({
  attempt: number;
  delay_ms?: number | null;
  error?: string | null;
  max_retries?: number | null;
  status?: number | null;
  type: "api_retry";
}) | ({
  limit?: string | null;
  resets_at?: number | null;
  status: string;
  type: "rate_limit";
}) | ({
  post_tokens?: number | null;
  pre_tokens?: number | null;
  trigger?: string | null;
  type: "compaction";
}) | {
  type: "interrupted";
} | ({
  trigger?: string | null;
  type: "reset";
}) | ({
  from?: string | null;
  text?: string | null;
  to?: string | null;
  type: "model_fallback";
}) | {
  text: string;
  type: "command_output";
} | ({
  level?: string | null;
  text: string;
  type: "info";
}) | {
  text: string;
  type: "plain_text";
} | {
  text: string;
  tools: Array<ToolUseId>;
  type: "tool_summary";
} | ({
  error?: string | null;
  text: string;
  type: "login";
}) | ({
  code?: number | null;
  signal?: number | null;
  stderr: string;
  type: "process_ended";
}) | {
  message: string;
  type: "error";
};

export type Oddities = {
  blocks: number;
  mismatches: number;
  not_json: number;
  oversize: number;
  unknown_types: number;
};

export type OpenAiProblem = {
  error: OpenAiProblemDetails;
};

export type OpenAiProblemDetails = {
  code?: string | null;
  message: string;
  param?: string | null;
  type: string;
};

export type Output = {
  bytes: number;
  images: number;
  line: number;
  tail?: Text | null;
  text: Text;
};

export type ParentInfo = {
  id: string;
  seq: number;
};

export type PermissionContext = {
  classifier_approvable?: boolean | null;
  decision_reason_type?: string | null;
  default_to_no?: boolean;
  matched_ask_rule?: AskRule | null;
  mcp_server?: McpServerName | null;
  requires_user_interaction?: boolean;
  suppress_always_allow_rule?: boolean;
};

export type PermissionRule = {
  ruleContent?: string | null;
  toolName: string;
};

export type PermissionUpdate = (RulesUpdate & {
  type: "addRules";
}) | (RulesUpdate & {
  type: "replaceRules";
}) | (RulesUpdate & {
  type: "removeRules";
}) | (ModeUpdate & {
  type: "setMode";
}) | (DirectoriesUpdate & {
  type: "addDirectories";
}) | (DirectoriesUpdate & {
  type: "removeDirectories";
}) | {
  type?: string;
};

export type PictureBytes = string;

export type Plugin = {
  name: string;
  path?: string | null;
};

export type Problem = {
  code: string;
  detail: string;
  status: number;
  title: string;
  type: string;
};

export type Question = {
  header?: string;
  multiSelect?: boolean;
  options?: Array<QuestionOption>;
  question: string;
};

export type QuestionOption = {
  description?: string;
  label: string;
};

export type RateLimit = {
  limit?: string | null;
  resets_at?: number | null;
  status: string;
  utilization?: number | null;
};

export type Remember = {
  destination: RuleDestination;
  suggestion: number;
};

export type RemovedEvent = {
  id: string;
};

export type Request = {
  entry: EntryId;
  id: RequestId;
  kind: RequestKind;
  parent?: ToolUseId | null;
  state: RequestState;
  tool?: ToolUseId | null;
  turn?: TurnId | null;
};

export type RequestId = string;

export type RequestKind = ({
  blocked_path?: string | null;
  context?: PermissionContext;
  description?: string | null;
  input: unknown;
  kind: "permission";
  reason?: string | null;
  suggestions: Array<PermissionUpdate>;
  tool_name: string;
}) | {
  input: unknown;
  kind: "question";
  questions: Array<Question>;
} | ({
  input: unknown;
  kind: "plan";
  plan?: string | null;
}) | ({
  form?: Array<FormField> | null;
  kind: "elicitation";
  message: string;
  server: string;
  url?: string | null;
}) | {
  input: unknown;
  kind: "client_tool";
  name: string;
};

export type RequestState = {
  state: "open";
} | ({
  answers?: unknown;
  by?: string | null;
  state: "allowed";
}) | ({
  by?: string | null;
  message?: string | null;
  state: "denied";
}) | {
  state: "expired";
} | {
  state: "cancelled";
} | {
  state: "settled";
};

export type ResponseFormat = {
  json_schema?: NamedSchema | null;
  type: FormatKind;
};

export type ResponseInput = string | Array<ChatMessage>;

export type ResponseItem = ResponseMessage | ResponseReasoning;

export type ResponseMessage = {
  content: Array<ResponseText>;
  id: string;
  role: string;
  status: string;
  type: string;
};

export type ResponseObject = {
  created_at: number;
  id: string;
  model: string;
  object: string;
  output: Array<ResponseItem>;
  previous_response_id?: string | null;
  status: string;
  usage: ResponseUsage;
};

export type ResponseReasoning = {
  id: string;
  status: string;
  summary: Array<ResponseText>;
  type: string;
};

export type ResponseRequest = {
  input: ResponseInput;
  instructions?: string | null;
  model: string;
  previous_response_id?: string | null;
  stream?: boolean | null;
  text?: ResponseTextOptions | null;
};

export type ResponseText = {
  refusal?: string | null;
  text?: string | null;
  type: string;
};

export type ResponseTextFormat = {
  name?: string | null;
  schema?: Record<string, unknown> | null;
  type: FormatKind;
};

export type ResponseTextOptions = {
  format?: ResponseTextFormat | null;
};

export type ResponseUsage = {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
};

export type ResumeKind = "fresh" | "ok" | "gap";

export type ResumeReport = {
  message_id?: string | null;
  released: number;
};

export type Role = "viewer" | "approver" | "driver" | "admin";

export type RuleBehavior = "allow" | "deny" | "ask";

export type RuleDestination = "session" | "localSettings" | "projectSettings" | "userSettings";

export type RulesUpdate = {
  behavior: RuleBehavior;
  destination?: RuleDestination | null;
  rules: Array<PermissionRule>;
};

export type SendByKey = {
  message: SendMessage;
  session?: CreateSession | null;
};

export type SendMessage = {
  client_id: string;
  command?: SlashCommand | null;
  files?: Array<string>;
  images?: Array<Image>;
  mode?: MessageMode;
  text?: string;
};

export type Session = {
  api_key_source?: string | null;
  cwd?: string | null;
  forked: boolean;
  id?: CliSessionId | null;
  mcp_servers: Array<McpServer>;
  model?: string | null;
  permission_mode?: string | null;
  plugins: Array<Plugin>;
  skills: Array<string>;
  slash_commands: Array<string>;
  title?: string | null;
  tools: Array<string>;
  version?: string | null;
};

export type SessionDiff = {
  files: Array<FileDiff>;
};

export type SessionInfo = {
  archived: boolean;
  cli_session_id?: string | null;
  cost_usd?: number | null;
  created_at: number;
  cwd: string;
  has_process: boolean;
  id: string;
  key?: string | null;
  last_error?: string | null;
  max_cost_usd?: number | null;
  model?: string | null;
  name?: string | null;
  newest_seq: number;
  no_session_persistence?: boolean;
  origin: string;
  parent?: ParentInfo | null;
  permission_mode?: string | null;
  pinned?: boolean;
  queued: number;
  status: SessionStatus;
  updated_at: number;
  waiting_for: WaitingFor;
};

export type SessionPage = {
  next_cursor?: string | null;
  sessions: Array<SessionInfo>;
};

export type SessionStatus = "idle" | "starting" | "running" | "waiting" | "stopping" | "failed" | "interrupted";

export type SessionsEvent = {
  sessions: Array<SessionInfo>;
};

export type SetModel = {
  model: string | null;
};

export type SetPermissionMode = {
  mode: string;
};

export type Share = {
  path: string;
  token: string;
  token_id: string;
};

export type ShareSession = {
  expires_in_s?: number | null;
};

export type SlashCommand = {
  arguments?: string;
  name: string;
};

export type SnapshotEvent = {
  messages: Array<MessageInfo>;
  seq: number;
  session: SessionInfo;
  view: View;
};

export type Standing = "trusted" | "changed" | "new";

export type Status = {
  state: "starting";
} | {
  state: "idle";
} | {
  state: "running";
} | {
  state: "compacting";
} | {
  state: "waiting_for_person";
} | {
  state: "background";
} | {
  state: "ended";
};

export type Stopped = {
  stopped: boolean;
};

export type StoppedTask = {
  task_id: string;
};

export type StreamOptions = {
  include_usage?: boolean | null;
};

export type TaskId = string;

export type Text = string;

export type TextEntry = {
  code?: Array<CodeBlock>;
  error?: ApiError | null;
  index?: number | null;
  message?: ApiMessageId | null;
  state: BlockState;
  text: string;
};

export type ThinkingEntry = {
  index?: number | null;
  message?: ApiMessageId | null;
  redacted: boolean;
  state: BlockState;
  text: string;
};

export type Todo = {
  active_form?: string | null;
  id?: string | null;
  status: string;
  text: string;
};

export type TodoList = {
  agent?: ToolUseId | null;
  items: Array<Todo>;
};

export type TokenInfo = {
  created_at: number;
  expires_at?: number | null;
  id: string;
  maker?: string | null;
  max_cost_usd?: number | null;
  name: string;
  requests_per_minute?: number | null;
  role: Role;
  session?: string | null;
  spent_usd: number;
};

export type TokenList = {
  tokens: Array<TokenInfo>;
};

export type TokenUsage = {
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  input_tokens: number;
  output_tokens: number;
};

export type ToolAnswer = {
  content: Array<ToolContent>;
  is_error?: boolean;
};

export type ToolCall = {
  detail: ToolDetail;
  duration_ms?: number | null;
  id: ToolUseId;
  input?: Json;
  input_text?: string;
  name: string;
  output?: Output | null;
  request?: RequestId | null;
  server: boolean;
  started_at?: number | null;
  state: ToolState;
  structured?: Json | null;
  title: string;
};

export type ToolCallList = {
  calls: Array<ToolCall>;
};

export type ToolContent = {
  text: string;
  type: "text";
} | {
  data: string;
  media_type: string;
  type: "image";
};

export type ToolDetail = {
  kind: "none";
} | ({
  background_task?: string | null;
  interrupted: boolean;
  kind: "command";
  output_file?: string | null;
  stderr: string;
}) | ({
  kind: "file_read";
  lines?: number | null;
  path: string;
  start_line?: number | null;
  total_lines?: number | null;
}) | {
  added: number;
  kind: "file_changed";
  path: string;
  removed: number;
} | {
  answers?: unknown;
  kind: "questions";
  questions: Array<Question>;
} | ({
  file?: string | null;
  kind: "plan";
  text: string;
}) | {
  kind: "agent";
} | {
  kind: "todos";
};

export type ToolState = "pending" | "waiting_for_permission" | "running" | "succeeded" | "failed" | "denied" | "interrupted" | "unknown";

export type ToolUseId = string;

export type ToolsOption = "hidden" | "reasoning";

export type TranscriptPage = {
  entries: Array<Entry>;
  next_before?: number | null;
  seq: number;
};

export type TrustFolder = {
  cwd: string;
  seal: string;
};

export type Turn = {
  cause: TurnCause;
  cost_usd?: number | null;
  id: TurnId;
  messages?: Array<MessageId>;
  models?: Array<ModelCost>;
  result?: TurnResult | null;
  started_at?: number | null;
  state: TurnState;
};

export type TurnCause = {
  by: "message";
} | {
  by: "presumed";
} | ({
  by: "unasked";
  origin?: string | null;
});

export type TurnId = number;

export type TurnResult = {
  api_error_status?: number | null;
  degraded?: boolean;
  denials?: Array<Denial>;
  duration_api_ms?: number | null;
  duration_ms?: number | null;
  errors?: Array<string>;
  is_error: boolean;
  num_turns?: number | null;
  stop_reason?: string | null;
  structured_output?: unknown;
  subtype: string;
  terminal_reason?: string | null;
  text?: string | null;
  usage?: TokenUsage | null;
};

export type TurnState = "running" | "succeeded" | "failed" | "interrupted" | "empty" | "degraded" | "lost";

export type UnknownEntry = {
  bytes: number;
  detail?: string | null;
  line: number;
  raw: string;
  reason: UnknownReason;
  type_name?: string | null;
};

export type UnknownReason = "unknown_type" | "mismatch" | "not_json" | "oversize" | "unknown_block" | "block_mismatch";

export type UserEntry = {
  delivery: Delivery;
  error?: string | null;
  images: number;
  message?: MessageId | null;
  source: UserSource;
  text: string;
};

export type UserSource = "host" | "agent" | "cli";

export type View = {
  agents: Array<Agent>;
  cost: Cost;
  dropped_entries: number;
  entries: Array<Entry>;
  files: Array<FileChange>;
  oddities: Oddities;
  rate_limit: RateLimit | null;
  requests: Array<Request>;
  session: Session;
  status: Status;
  tasks: Array<BackgroundTask>;
  todos: Array<TodoList>;
  turns: Array<Turn>;
  usages: Array<MessageUsage>;
};

export type WaitingFor = {
  budget?: boolean;
  permissions: number;
  process?: boolean;
  questions: number;
};

