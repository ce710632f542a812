// The unattended loop on the page: what it does, and what each role may do with it.

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import type { LoopAnswer } from "../src/lib/api/schema.ts";
import { PHONE, screenshot, violations } from "./browser.ts";
import { program, script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { open } = stage();

const ASKS = {
  tool: "AskUserQuestion",
  input: {
    questions: [
      {
        question: "Which colour?",
        header: "Colour",
        multiSelect: false,
        options: [
          { label: "Red", description: "r" },
          { label: "Blue", description: "b" },
        ],
      },
    ],
  },
};

/** `weir loop run --listen` in a repository of its own. */
class Loop {
  readonly folder = mkdtempSync(join(tmpdir(), "weir-loop-"));
  readonly work = join(this.folder, "work");
  url = "";
  token = "";
  #child: ReturnType<typeof spawn> | null = null;
  #output = "";

  constructor(tasks: [string, string][], config = "") {
    mkdirSync(this.work);
    mkdirSync(join(this.folder, "home"));
    const claude = join(this.folder, "claude");
    writeFileSync(claude, `#!/bin/sh\nexec '${program()}' simulated-claude "$@"\n`);
    chmodSync(claude, 0o755);
    const list = tasks.map(([title, steps]) => `- [ ] ${title}\n  ${steps}\n`).join("");
    writeFileSync(join(this.work, "TASKS.md"), list);
    writeFileSync(join(this.work, "weir.toml"), config);
    this.git("init", "-q", "-b", "main");
    this.git("config", "user.name", "Ann");
    this.git("config", "user.email", "ann@example.org");
    this.git("add", "-A");
    this.git("commit", "-q", "-m", "Begin");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.work, encoding: "utf8" });
  }

  async start(): Promise<void> {
    const ready = join(this.folder, "ready.json");
    const args = ["loop", "run", "--plain", "--listen", "127.0.0.1:0", "--ready-file", ready, "--data-dir"];
    const child = spawn(program(), [...args, join(this.folder, "data"), "--claude", join(this.folder, "claude")], {
      cwd: this.work,
      env: {
        PATH: process.env["PATH"],
        HOME: join(this.folder, "home"),
        ANTHROPIC_API_KEY: "simulated",
        SIMULATED_CLAUDE_PACE: "0",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const pipe of [child.stdout, child.stderr])
      pipe.on("data", (data: Buffer) => (this.#output += data.toString()));
    await until("the page of the loop", () => {
      if (child.exitCode !== null) throw new Error(`the loop ended with ${child.exitCode}:\n${this.#output}`);
      return existsSync(ready) && readFileSync(ready, "utf8").trim().endsWith("}");
    });
    const told = JSON.parse(readFileSync(ready, "utf8")) as { url: string; token: string };
    this.url = told.url.endsWith("/") ? told.url : `${told.url}/`;
    this.token = told.token;
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(new URL(path, this.url), init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** A file that appears in the place where a task is worked on. */
  async appears(name: string): Promise<void> {
    await until(name, () => existsSync(join(this.folder, name)));
  }

  go(name: string): void {
    writeFileSync(join(this.folder, name), "");
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      child.kill("SIGINT");
      const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
      await ended;
      clearTimeout(late);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let loops: Loop[] = [];
afterEach(async () => {
  const ended = loops;
  loops = [];
  await Promise.all(ended.map((loop) => loop.close()));
});

async function begin(tasks: [string, string][], config = ""): Promise<Loop> {
  const loop = new Loop(tasks, config);
  loops.push(loop);
  await loop.start();
  return loop;
}

async function visit(loop: Loop, role: string | null = null, options = {}): Promise<Page> {
  let { token } = loop;
  if (role !== null) token = (await loop.api<{ token: string }>("POST", "v1/tokens", { name: role, role })).token;
  const page = await open().visit(loop as unknown as WeirServer, `${loop.url}#token=${token}`, options);
  const entry = page.getByRole("button", { name: /^Loop/ });
  // On a phone the list of sessions, which has the entry, opens by itself.
  await entry.click();
  await page.getByRole("dialog", { name: "Loop" }).waitFor();
  return page;
}

/** A session that waits for a file, and then makes one. */
const waits = (name: string) =>
  script(
    {
      tool: "Bash",
      input: {
        command: `touch ../../../../${name}-begun; while [ ! -e ../../../../${name}-go ]; do sleep 0.05; done; echo 1 > ${name}.txt`,
      },
    },
    { text: "Done." },
  );

const GATE = '[[loop.gates]]\nname = "whole"\ncommand = ["sh", "-c", "test ! -e broken"]\n';

describe("the loop", () => {
  for (const [name, options] of [
    ["desktop", {}],
    ["phone", { viewport: PHONE, hasTouch: true, isMobile: true }],
  ] as const) {
    it(`shows its list, the current task, gates and limits, on a ${name}`, async () => {
      const loop = await begin(
        [
          ["First <b>thing</b>", waits("one")],
          ["Second thing", script({ text: "No." })],
        ],
        GATE,
      );
      await loop.appears("one-begun");
      const page = await visit(loop, null, options);
      const dialog = page.getByRole("dialog", { name: "Loop" });
      await dialog.getByText("0 of 2 done").waitFor();
      const current = dialog.getByRole("region", { name: /^In progress: First/ });
      await current.getByText("attempt 1").waitFor();
      await current.getByText(/whole:\s+passed/).waitFor();
      await dialog.getByText("of $10.00").waitFor();
      await dialog.getByRole("region", { name: "Tasks" }).getByText("Second thing", { exact: true }).first().waitFor();
      await screenshot(page, `loop-${name}`);
      expect(await violations(page)).toEqual([]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(wide).toBe(false);
      const inner = await dialog.evaluate((box) => box.scrollWidth > box.clientWidth);
      expect(inner).toBe(false);
      loop.go("one-go");
      await dialog.getByText("1 of 2 done").waitFor();
    });
  }

  it("is paused and goes on", async () => {
    const loop = await begin([
      ["One", waits("one")],
      ["Two", waits("two")],
    ]);
    await loop.appears("one-begun");
    const page = await visit(loop, "driver");
    const dialog = page.getByRole("dialog", { name: "Loop" });
    await dialog.getByRole("button", { name: "Pause" }).click();
    await dialog.getByText("Paused by driver").waitFor();
    loop.go("one-go");
    await dialog.getByText("1 of 2 done").waitFor();
    const { run } = await loop.api<LoopAnswer>("GET", "v1/loop");
    expect([run?.status, run?.current.length]).toEqual(["paused", 0]);
    expect(existsSync(join(loop.folder, "two-begun"))).toBe(false);
    await screenshot(page, "loop-paused");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await loop.appears("two-begun");
    await dialog.getByRole("status").getByText("Running").waitFor();
  });

  it("skips a task that waits at once, and one in progress after a confirmation", async () => {
    const loop = await begin([
      ["One", waits("one")],
      ["Two", waits("two")],
      ["Three", waits("three")],
    ]);
    await loop.appears("one-begun");
    const page = await visit(loop);
    const dialog = page.getByRole("dialog", { name: "Loop" });
    const tasks = dialog.getByRole("region", { name: "Tasks" });
    await tasks.getByRole("button", { name: "Skip Two" }).click();
    await tasks.getByRole("listitem").filter({ hasText: "Two" }).getByText("Skipped").waitFor();
    await dialog.getByRole("button", { name: "Skip One" }).click();
    await dialog.getByRole("button", { name: "Keep" }).click();
    expect(existsSync(join(loop.folder, "three-begun"))).toBe(false);
    await dialog.getByRole("button", { name: "Skip One" }).click();
    await dialog.getByRole("button", { name: "End it and skip One" }).click();
    await loop.appears("three-begun");
    await tasks.getByRole("button", { name: "Retry Two" }).click();
    await tasks.getByRole("listitem").filter({ hasText: "Two" }).getByText("Open", { exact: true }).waitFor();
  });

  it("has its questions answered, by a choice or in own words", async () => {
    const steps = script(ASKS, { tool: "Bash", input: { command: "echo 1 > a.txt" } }, { text: "Done." });
    const loop = await begin([
      ["One", steps],
      ["Two", waits("two")],
    ]);
    const page = await visit(loop, "approver");
    const dialog = page.getByRole("dialog", { name: "Loop" });
    const form = dialog.getByRole("form", { name: "Question of one" });
    await form.getByText("Which colour?").waitFor();
    expect(await form.getByRole("button", { name: "Answer" }).isDisabled()).toBe(true);
    await screenshot(page, "loop-question");
    expect(await violations(page)).toEqual([]);
    await form.getByRole("button", { name: "Blue" }).click();
    await form.getByRole("button", { name: "Answer" }).click();
    await form.waitFor({ state: "detached" });
    await loop.appears("two-begun");
    const state = JSON.parse(readFileSync(join(loop.work, ".ralph/state/run.json"), "utf8")) as {
      tasks: { answers?: Record<string, string> }[];
    };
    expect(state.tasks[0]?.answers).toEqual({ "Which colour?": "Blue" });
  });

  it("offers only what a role may do", async () => {
    const loop = await begin([
      ["One", script(ASKS, { text: "Done." })],
      ["Two", waits("two")],
    ]);
    await until("a question", async () => {
      const { run } = await loop.api<LoopAnswer>("GET", "v1/loop");
      return run !== null && run !== undefined && run.questions.length > 0;
    });
    const names = async (role: string) => {
      const page = await visit(loop, role);
      const dialog = page.getByRole("dialog", { name: "Loop" });
      await dialog.getByText("Which colour?").waitFor();
      await dialog.getByRole("region", { name: "Tasks" }).getByText("Two", { exact: true }).first().waitFor();
      const has = async (name: string) => (await dialog.getByRole("button", { name, exact: true }).count()) > 0;
      return [await has("Answer"), await has("Pause"), await has("Skip Two"), await has("HTML")];
    };
    expect(await names("viewer")).toEqual([false, false, false, true]);
    expect(await names("approver")).toEqual([true, false, false, true]);
    expect(await names("driver")).toEqual([true, true, true, true]);
  });

  it("gives its report, and says how it ended", async () => {
    const loop = await begin([["One", waits("one")]], GATE);
    await loop.appears("one-begun");
    const page = await visit(loop, "viewer");
    const dialog = page.getByRole("dialog", { name: "Loop" });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "Markdown" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("weir-loop-report.md");
    const text = readFileSync(await download.path(), "utf8");
    expect(text).toContain("| One |");
  });

  it("is not there where no loop runs", async () => {
    const { WeirServer } = await import("./server.ts");
    const server = await WeirServer.start();
    try {
      const page = await open().visit(server, server.link);
      await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
      expect(await page.getByRole("button", { name: /^Loop/ }).count()).toBe(0);
    } finally {
      await server.close();
    }
  });
});
