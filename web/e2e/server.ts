// A separate `weir serve` for each test, with the simulated CLI, a free port and temporary folders.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { MessageMode, SessionInfo } from "../src/lib/api/schema.ts";

const DEADLINE = 60_000;

const target = process.env["CARGO_TARGET_DIR"] ?? resolve(import.meta.dirname, "../../target");

/** The program under test: WEIR_BIN, or what cargo built last. */
export function program(): string {
  const found = built(process.env["WEIR_BIN"], "weir");
  if (found === null) throw new Error("no weir to test: build it with `cargo build -p weir-cli`, or set WEIR_BIN");
  return found;
}

/** A program of this project, if it is built. */
export function built(named: string | undefined, name: string): string | null {
  const sibling = process.env["WEIR_BIN"] === undefined ? undefined : join(dirname(process.env["WEIR_BIN"]), name);
  const candidates = [named, sibling, join(target, "debug", name), join(target, "release", name)];
  const found = candidates.find((path) => path !== undefined && existsSync(path));
  return found === undefined ? null : resolve(found);
}

export interface ServerOptions {
  /** A CLI other than the simulated one, and its environment. */
  claude?: string;
  env?: Record<string, string>;
  /** Whether the CLI says that it has a key. It does by default. */
  hasKey?: boolean;
  basePath?: string;
  args?: string[];
  pace?: string;
  /** What the agent does for each message that has no script of its own. */
  script?: Record<string, unknown>[];
  /** What drivers may pre-approve, apart from reading. Everything by default. */
  allowTools?: string[];
}

export class WeirServer {
  readonly folder = mkdtempSync(join(tmpdir(), "weir-page-"));
  readonly root = join(this.folder, "work");
  url = "";
  token = "";
  #child: ChildProcess | null = null;
  #port = 0;
  #output = "";
  readonly #options: ServerOptions;

  private constructor(options: ServerOptions) {
    this.#options = options;
    mkdirSync(this.root);
    mkdirSync(join(this.folder, "home"));
    const claude = join(this.folder, "claude");
    writeFileSync(claude, `#!/bin/sh\nexec '${program()}' simulated-claude "$@"\n`);
    chmodSync(claude, 0o755);
    if (options.script) writeFileSync(this.#script, JSON.stringify(options.script));
  }

  get #script(): string {
    return join(this.folder, "script.json");
  }

  static async start(options: ServerOptions = {}): Promise<WeirServer> {
    const server = new WeirServer(options);
    await server.start();
    return server;
  }

  /** Starts the server, or restarts it on the same port and data. */
  async start(): Promise<void> {
    const ready = join(this.folder, "ready.json");
    rmSync(ready, { force: true });
    const args = [
      "serve",
      "--listen",
      `127.0.0.1:${this.#port}`,
      "--data-dir",
      join(this.folder, "data"),
      "--root",
      this.root,
      "--claude",
      this.#options.claude ?? join(this.folder, "claude"),
      "--ready-file",
      ready,
      "--drain",
      "1s",
      // Tests pre-approve tools where no card is wanted.
      ...(this.#options.allowTools ?? ["*"]).flatMap((rule) => ["--allow-tools", rule]),
      "--env",
      `SIMULATED_CLAUDE_PACE=${this.#options.pace ?? "0"}`,
      "--env",
      `HOME=${join(this.folder, "home")}`,
      ...(this.#options.script ? ["--env", `SIMULATED_CLAUDE_SCRIPT=${this.#script}`] : []),
      ...(this.#options.hasKey === false ? [] : ["--env", "ANTHROPIC_API_KEY=simulated"]),
      ...(this.#options.basePath ? ["--base-path", this.#options.basePath] : []),
      ...Object.entries(this.#options.env ?? {}).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
      ...(this.#options.args ?? []),
    ];
    const child = spawn(program(), args, {
      env: { PATH: process.env["PATH"], HOME: join(this.folder, "home") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const pipe of [child.stdout, child.stderr])
      pipe?.on("data", (data: Buffer) => (this.#output += data.toString()));
    await until("the server listens", () => {
      if (child.exitCode !== null) throw new Error(`weir serve ended with ${child.exitCode}:\n${this.#output}`);
      return existsSync(ready) && readFileSync(ready, "utf8").trim().endsWith("}");
    });
    const { url, token } = JSON.parse(readFileSync(ready, "utf8")) as { url: string; token: string };
    this.url = url.endsWith("/") ? url : `${url}/`;
    this.#port = Number(new URL(url).port);
    // The ready file has a new token with each start; a person's token stays.
    if (this.token === "") {
      this.token = (
        await this.api<{ token: string }>("POST", "v1/tokens", { name: "anna", role: "admin" }, token)
      ).token;
    }
  }

  /** The link to the page, as the server prints it. */
  get link(): string {
    return `${this.url}#token=${this.token}`;
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async close(): Promise<void> {
    await this.#end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(late);
  }

  async api<T>(method: string, path: string, body?: unknown, token = this.token): Promise<T> {
    const init: RequestInit = { method, headers: { Authorization: `Bearer ${token}` } };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...init.headers, "Content-Type": "application/json" };
    }
    const response = await fetch(new URL(path, this.url), init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  session(more: Record<string, unknown> = {}): Promise<SessionInfo> {
    return this.api("POST", "v1/sessions", { cwd: this.root, ...more });
  }

  info(id: string): Promise<SessionInfo> {
    return this.api("GET", `v1/sessions/${id}`);
  }

  async say(id: string, text: string, mode: MessageMode = "queue"): Promise<void> {
    await this.api("POST", `v1/sessions/${id}/messages`, { client_id: crypto.randomUUID(), text, mode });
  }

  async settled(id: string): Promise<SessionInfo> {
    let info = await this.info(id);
    await until("the session is idle", async () => {
      info = await this.info(id);
      return info.status === "idle" && info.queued === 0;
    });
    return info;
  }
}

/** A prompt that the simulated CLI plays step by step. */
export function script(...steps: Record<string, unknown>[]): string {
  return `@@${JSON.stringify(steps)}`;
}

/** Waits for a condition, with a deadline that a loaded machine can meet. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + DEADLINE;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`in ${DEADLINE / 1000} s this did not happen: ${what}`);
    await after(30);
  }
}
