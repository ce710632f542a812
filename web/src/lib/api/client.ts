// Requests to the server. URLs are relative to the page, so a base path needs no configuration.

import type {
  Accepted,
  AnswerElicitation,
  AnswerPermission,
  AnswerQuestion,
  Answered,
  AuditPage,
  CancelledMessage,
  ChangeQueued,
  ChangeSession,
  CliReport,
  CommitMade,
  CreateSession,
  CreateToken,
  CreatedToken,
  Effort,
  ExportFormat,
  FileList,
  FilePreview,
  Folder,
  Interrupted,
  LogEvent,
  Me,
  MessageInfo,
  PastWork,
  Problem,
  ResumeReport,
  RevertChange,
  RevertedChange,
  Review,
  ReviewBase,
  ReviewFile,
  SearchResults,
  SendMessage,
  SessionDiff,
  SessionInfo,
  SessionPage,
  Share,
  Stopped,
  StoppedTask,
  TokenList,
  TranscriptPage,
} from "./schema.ts";

/** The server refused the request. */
export class RequestError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "RequestError";
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** No response: the network or the server is down. Worth retrying. */
export class OfflineError extends Error {
  constructor() {
    super("The server cannot be reached.");
    this.name = "OfflineError";
  }
}

export class Client {
  readonly token: string;
  readonly #base: URL;

  constructor(token: string, base: string | URL = new URL(".", location.href)) {
    this.token = token;
    this.#base = new URL(base);
  }

  address(path: string): URL {
    return new URL(path, this.#base);
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${this.token}`);
    let response: Response;
    try {
      response = await fetch(this.address(path), { ...init, headers, cache: "no-store", credentials: "omit" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new OfflineError();
    }
    if (!response.ok) throw await failure(response);
    return response;
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { "Content-Type": "application/json" };
    }
    const response = await this.fetch(path, init);
    if (response.status === 204) return undefined as T;
    const text = await response.text();
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  me(): Promise<Me> {
    return this.#json("GET", "v1/me");
  }

  sessions(query: Record<string, string>): Promise<SessionPage> {
    return this.#json("GET", `v1/sessions?${new URLSearchParams(query)}`);
  }

  /** What was said with these words. */
  search(text: string): Promise<SearchResults> {
    return this.#json("GET", `v1/search?${new URLSearchParams({ text, limit: "50" })}`);
  }

  /** Sessions that the CLI keeps by itself, and projects. */
  pastWork(): Promise<PastWork> {
    return this.#json("GET", "v1/past-sessions");
  }

  /** Continues a session that the CLI keeps, under its own id or as a copy. */
  adopt(id: string, keepId: boolean): Promise<SessionInfo> {
    return this.#json("POST", `v1/past-sessions/${encodeURIComponent(id)}`, { keep_id: keepId });
  }

  /** Whether the CLI is there, starts and has a login. */
  cli(): Promise<CliReport> {
    return this.#json("GET", "v1/cli");
  }

  create(session: CreateSession): Promise<SessionInfo> {
    return this.#json("POST", "v1/sessions", session);
  }

  patch(id: string, change: ChangeSession): Promise<SessionInfo> {
    return this.#json("PATCH", at(id), change);
  }

  remove(id: string): Promise<void> {
    return this.#json("DELETE", at(id));
  }

  fork(id: string): Promise<SessionInfo> {
    return this.#json("POST", `${at(id)}/fork`, {});
  }

  send(id: string, message: SendMessage): Promise<Accepted> {
    return this.#json("POST", `${at(id)}/messages`, message);
  }

  cancel(id: string, message: string): Promise<CancelledMessage> {
    return this.#json("DELETE", `${at(id)}/messages/${encodeURIComponent(message)}`);
  }

  /** Changes a message that waits: its text, or its place in the queue. */
  changeMessage(id: string, message: string, change: ChangeQueued): Promise<MessageInfo> {
    return this.#json("PATCH", `${at(id)}/messages/${encodeURIComponent(message)}`, change);
  }

  interrupt(id: string): Promise<Interrupted> {
    return this.#json("POST", `${at(id)}/interrupt`);
  }

  stopTask(id: string, task: string): Promise<StoppedTask> {
    return this.#json("POST", `${at(id)}/tasks/${encodeURIComponent(task)}/stop`);
  }

  stop(id: string): Promise<Stopped> {
    return this.#json("POST", `${at(id)}/stop`);
  }

  resume(id: string): Promise<ResumeReport> {
    return this.#json("POST", `${at(id)}/resume`);
  }

  answerPermission(id: string, request: string, answer: AnswerPermission): Promise<Answered> {
    return this.#json("POST", `${at(id)}/permissions/${encodeURIComponent(request)}`, answer);
  }

  /** What a call would do to the file it writes. */
  preview(id: string, request: string): Promise<FilePreview> {
    return this.#json("GET", `${at(id)}/permissions/${encodeURIComponent(request)}/preview`);
  }

  answerQuestion(id: string, request: string, answer: AnswerQuestion): Promise<Answered> {
    return this.#json("POST", `${at(id)}/questions/${encodeURIComponent(request)}`, answer);
  }

  answerElicitation(id: string, request: string, answer: AnswerElicitation): Promise<Answered> {
    return this.#json("POST", `${at(id)}/elicitations/${encodeURIComponent(request)}`, answer);
  }

  setModel(id: string, model: string | null): Promise<SessionInfo> {
    return this.#json("PUT", `${at(id)}/model`, { model });
  }

  setEffort(id: string, effort: Effort | null): Promise<SessionInfo> {
    return this.#json("PUT", `${at(id)}/effort`, { effort });
  }

  setPermissionMode(id: string, mode: string): Promise<SessionInfo> {
    return this.#json("PUT", `${at(id)}/permission-mode`, { mode });
  }

  /** Files of the session's folder whose path contains these letters. */
  files(id: string, query: string): Promise<FileList> {
    return this.#json("GET", `${at(id)}/files?${new URLSearchParams({ query })}`);
  }

  folder(cwd: string): Promise<Folder> {
    return this.#json("GET", `v1/folder?${new URLSearchParams({ cwd })}`);
  }

  trustFolder(cwd: string, seal: string): Promise<Folder> {
    return this.#json("PUT", "v1/folder/trust", { cwd, seal });
  }

  transcript(id: string, before: number, limit: number): Promise<TranscriptPage> {
    return this.#json("GET", `${at(id)}/transcript?before=${before}&limit=${limit}`);
  }

  diff(id: string): Promise<SessionDiff> {
    return this.#json("GET", `${at(id)}/diff`);
  }

  /** What the session's folder has and a base has not. */
  review(id: string, base: ReviewBase): Promise<Review> {
    return this.#json("GET", `${at(id)}/changes?base=${base}`);
  }

  /** The change of one file, with all its lines. */
  reviewFile(id: string, base: ReviewBase, path: string): Promise<ReviewFile> {
    return this.#json("GET", `${at(id)}/changes/file?${new URLSearchParams({ base, path })}`);
  }

  revert(id: string, change: RevertChange): Promise<RevertedChange> {
    return this.#json("POST", `${at(id)}/changes/revert`, change);
  }

  stage(id: string, paths: string[], staged: boolean): Promise<void> {
    return this.#json("POST", `${at(id)}/changes/stage`, { paths, staged });
  }

  commit(id: string, message: string): Promise<CommitMade> {
    return this.#json("POST", `${at(id)}/changes/commit`, { message });
  }

  async toolOutput(id: string, tool: string): Promise<string> {
    return (await this.fetch(`${at(id)}/tools/${encodeURIComponent(tool)}/output`)).text();
  }

  /** Base path of a message's pictures, without their number. */
  messagePictures(id: string, message: string): string {
    return `${at(id)}/messages/${encodeURIComponent(message)}/images`;
  }

  /** Base path of the pictures that a tool returned, without their number. */
  toolPictures(id: string, tool: string): string {
    return `${at(id)}/tools/${encodeURIComponent(tool)}/images`;
  }

  async picture(path: string): Promise<Blob> {
    return (await this.fetch(path)).blob();
  }

  async log(id: string, after: number): Promise<LogEvent[]> {
    const response = await this.fetch(`${at(id)}/log?after=${after}`);
    const lines = (await response.text()).split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as LogEvent);
  }

  share(id: string, expiresInSeconds?: number): Promise<Share> {
    return this.#json("POST", `${at(id)}/share`, expiresInSeconds ? { expires_in_s: expiresInSeconds } : {});
  }

  /** All tokens and share links. */
  tokens(): Promise<TokenList> {
    return this.#json("GET", "v1/tokens");
  }

  createToken(token: CreateToken): Promise<CreatedToken> {
    return this.#json("POST", "v1/tokens", token);
  }

  revokeToken(id: string): Promise<void> {
    return this.#json("DELETE", `v1/tokens/${encodeURIComponent(id)}`);
  }

  /** What was done through the API, newest first. */
  audit(before: number | null): Promise<AuditPage> {
    const query = new URLSearchParams({ limit: "100", ...(before === null ? {} : { before: String(before) }) });
    return this.#json("GET", `v1/audit?${query}`);
  }

  async export(id: string, format: ExportFormat): Promise<Blob> {
    return (await this.fetch(`${at(id)}/export?format=${format}`)).blob();
  }
}

function at(id: string): string {
  return `v1/sessions/${encodeURIComponent(id)}`;
}

async function failure(response: Response): Promise<RequestError> {
  const title = response.statusText || "The request failed.";
  const unknown: Problem = { type: "about:blank", title, status: response.status, detail: "", code: "" };
  try {
    const problem = JSON.parse(await response.text()) as Partial<Problem>;
    return new RequestError({ ...unknown, ...problem, status: response.status });
  } catch {
    return new RequestError(unknown);
  }
}
