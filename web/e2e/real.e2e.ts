// One session on the real CLI, which talks to a scripted API on this machine. It needs the pinned version
// (scripts/setup-real-cli.sh) and `cargo build -p weir-testkit --bin scripted-api`; without them it is skipped, and
// says so.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import {
  card,
  conversation,
  linkTo,
  openAs,
  ready as cardIsReady,
  said,
  screenshot,
  send,
  violations,
} from "./browser.ts";
import { built, script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const root = resolve(import.meta.dirname, "../..");
const version =
  readFileSync(join(root, "tests/real-cli-versions"), "utf8")
    .split("\n")
    .find((line) => /^\d/.test(line))
    ?.trim() ?? "";
const claude = execFileSync(join(root, "scripts/setup-real-cli.sh"), ["--print-path", version], {
  encoding: "utf8",
}).trim();
const api = built(process.env["SCRIPTED_API"], "scripted-api");
const ready = api !== null && existsSync(claude);
let running: ChildProcess | null = null;

afterEach(async () => {
  const child = running;
  running = null;
  if (child === null || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
});

async function startApi(): Promise<string> {
  const child = spawn(api ?? "", [], { stdio: ["pipe", "pipe", "inherit"] });
  running = child;
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  await until("the API listens", () => output.endsWith("\n"));
  return `http://127.0.0.1:${output.trim()}`;
}

async function serveReal(): Promise<WeirServer> {
  const url = await startApi();
  return serve({
    claude,
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "a-dummy-key",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  });
}

async function press(page: Page, label: string, name: string): Promise<void> {
  await card(page, label).waitFor({ timeout: 60_000 });
  await cardIsReady(page, label);
  await card(page, label).getByRole("button", { name }).click();
}

describe("the real CLI", () => {
  it.skipIf(!ready)(`uses a tool with permission and a sub-agent (${version})`, async () => {
    const server = await serveReal();
    const { id } = await server.session({ name: "The real one" });
    const page = await open().visit(server, linkTo(server, id));
    const prompt = script({ text: "The sub-agent looked." });
    await send(
      page,
      script(
        { tool: "Bash", input: { command: "echo real > real.txt", description: "write a file" } },
        { tool: "Task", input: { description: "Look around", subagent_type: "general-purpose", prompt } },
        { text: "All of it was real." },
      ),
    );
    await page
      .getByRole("group", { name: "Permission for Bash" })
      .getByRole("button", { name: "Allow once" })
      .click({ timeout: 60_000 });
    await said(page, "All of it was real.").first().waitFor({ timeout: 60_000 });
    expect(readFileSync(join(server.root, "real.txt"), "utf8")).toBe("real\n");
    const group = conversation(page).locator(".agent", { hasText: "Look around" });
    await group.getByRole("button", { name: /Look around/ }).click();
    await group.locator(".prose").getByText("The sub-agent looked.").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "real-cli");
  });

  it.skipIf(!ready)(`obeys each button of the permission card (${version})`, async () => {
    const server = await serveReal();
    const { id } = await server.session();
    const page = await openAs(open(), server, "admin", id);
    const BASH = "Permission for Bash";
    const bash = (command: string) => ({ tool: "Bash", input: { command, description: "try" } });
    const play = (name: string, ...steps: Record<string, unknown>[]) =>
      server.say(id, script(...steps, { text: name }));
    const end = (name: string) => said(page, name).first().waitFor({ timeout: 60_000 });
    const has = (name: string) => existsSync(join(server.root, name));

    await play("Denied.", bash("touch one"));
    await press(page, BASH, "Deny…");
    await card(page, BASH)
      .getByLabel(/What should it do instead/)
      .fill("Not this file.");
    await press(page, BASH, "Deny");
    await end("Denied.");
    expect(has("one")).toBe(false);

    await play("Edited.", bash("touch one"));
    await press(page, BASH, "Edit…");
    await card(page, BASH).getByLabel("Command").last().fill("touch two");
    await press(page, BASH, "Allow as edited");
    await end("Edited.");
    expect([has("one"), has("two")]).toEqual([false, true]);

    // The exact rule, for the session: the next such command does not ask.
    await play("Remembered.", bash("git init -q --bare three"), bash("git init -q --bare four"));
    await press(page, BASH, "Always allow…");
    const items = card(page, BASH).getByRole("menuitem", { name: /^Bash\(git init.*For this session/ });
    await items.first().waitFor();
    await cardIsReady(page, BASH);
    await items.first().click();
    await end("Remembered.");
    expect([has("three"), has("four")]).toEqual([true, true]);

    // An existing file is shown as replaced, and a suggested mode takes effect.
    writeFileSync(join(server.root, "notes.md"), "The only copy.\n");
    const file = join(server.root, "notes.md");
    await play(
      "Replaced.",
      { tool: "Read", input: { file_path: file } },
      { tool: "Write", input: { file_path: file, content: "Another.\n" } },
      { tool: "Write", input: { file_path: join(server.root, "new.md"), content: "New.\n" } },
    );
    const WRITE = "Permission for Write";
    await card(page, WRITE).getByText("Replace this file?").waitFor({ timeout: 60_000 });
    await card(page, WRITE).locator(".removed", { hasText: "The only copy." }).waitFor();
    await press(page, WRITE, "Always allow…");
    await cardIsReady(page, WRITE);
    await card(page, WRITE)
      .getByRole("menuitem", { name: /Accept all edits.*For this session/ })
      .click();
    await end("Replaced.");
    expect([readFileSync(file, "utf8"), has("new.md")]).toEqual(["Another.\n", true]);
  });

  it.skipIf(!ready)(`stores a rule where the admin chooses (${version})`, async () => {
    const server = await serveReal();
    const { id } = await server.session();
    const page = await openAs(open(), server, "admin", id);
    const BASH = "Permission for Bash";
    await server.say(
      id,
      script({ tool: "Bash", input: { command: "git init -q --bare one", description: "try" } }, { text: "Stored." }),
    );
    await press(page, BASH, "Always allow…");
    await cardIsReady(page, BASH);
    await card(page, BASH)
      .getByRole("menuitem", { name: /^Bash\(git init.*In this project, for you/ })
      .first()
      .click();
    await said(page, "Stored.").first().waitFor({ timeout: 60_000 });
    const settings = readFileSync(join(server.root, ".claude/settings.local.json"), "utf8");
    expect(settings).toContain("Bash(git init");
  });

  for (const before of ["default", "acceptEdits"]) {
    it.skipIf(!ready)(`carries out a plan in the mode that was decided on, ${before} before (${version})`, async () => {
      const server = await serveReal();
      const { id } = await server.session({ permission_mode: before });
      const page = await openAs(open(), server, "driver", id);
      await server.say(id, script({ text: "Hello." }));
      await said(page, "Hello.").first().waitFor({ timeout: 60_000 });
      const mode = () => server.api("PUT", `v1/sessions/${id}/permission-mode`, { mode: "plan" });
      const plan = { tool: "ExitPlanMode", input: { plan: "1. Write the file." } };
      const write = (name: string) => ({
        tool: "Write",
        input: { file_path: join(server.root, name), content: "x\n" },
      });
      await mode();
      await server.say(id, script(plan, write("asked.txt"), { text: "Asked." }));
      await press(page, "Plan", "Approve, ask before edits");
      await card(page, "Permission for Write").waitFor({ timeout: 60_000 });
      expect(existsSync(join(server.root, "asked.txt"))).toBe(false);
      await press(page, "Permission for Write", "Allow once");
      await said(page, "Asked.").first().waitFor({ timeout: 60_000 });
      await server.settled(id);
      await mode();
      await server.say(id, script(plan, write("accepted.txt"), { text: "Accepted." }));
      await press(page, "Plan", "Approve, accept edits");
      await said(page, "Accepted.").first().waitFor({ timeout: 60_000 });
      expect(existsSync(join(server.root, "accepted.txt"))).toBe(true);
      await server.settled(id);
      await mode();
      await server.say(id, script(plan, { text: "Planning." }));
      await press(page, "Plan", "Keep planning…");
      await press(page, "Plan", "Keep planning");
      await said(page, "Planning.").first().waitFor({ timeout: 60_000 });
      expect((await server.settled(id)).permission_mode).toBe("plan");
    });
  }

  it.skipIf(!ready)(`hears answers to questions, and that they were declined (${version})`, async () => {
    const server = await serveReal();
    const { id } = await server.session();
    const page = await openAs(open(), server, "approver", id);
    const options = (...labels: string[]) => labels.map((label) => ({ label, description: `about ${label}` }));
    const questions = [
      { question: "Which colour?", header: "Colour", options: options("Red", "Blue"), multiSelect: false },
      { question: "Which fruits?", header: "Fruit", options: options("Apple", "Pear"), multiSelect: true },
    ];
    await server.say(id, script({ tool: "AskUserQuestion", input: { questions } }, { text: "Thanks." }));
    await card(page, "Question").waitFor({ timeout: 60_000 });
    await page.keyboard.press("r");
    await cardIsReady(page, "Question");
    for (const key of ["2", "1", "2", "Enter"]) await page.keyboard.press(key);
    await said(page, "Thanks.").first().waitFor({ timeout: 60_000 });
    await conversation(page)
      .getByRole("button", { name: /^Asked/ })
      .click();
    for (const label of ["Blue", "Apple", "Pear"])
      await conversation(page).locator(".chosen", { hasText: label }).waitFor();
    await server.say(id, script({ tool: "AskUserQuestion", input: { questions } }, { text: "Well." }));
    await press(page, "Question", "Decline…");
    await press(page, "Question", "Decline");
    await said(page, "Well.").first().waitFor({ timeout: 60_000 });
  });

  const ORDER = "Permission for mcp__shop__order";
  const FORM = "Request from an MCP server";
  const order = (...then: Record<string, unknown>[]) => script({ tool: "mcp__shop__order", input: {} }, ...then);

  /** A server with an MCP server whose only tool asks with a form. */
  async function serveShop(): Promise<WeirServer> {
    const server = await serveReal();
    const shop = { type: "stdio", command: process.execPath, args: [resolve(import.meta.dirname, "shop.mjs")] };
    writeFileSync(join(server.folder, "home/.claude.json"), JSON.stringify({ mcpServers: { shop } }));
    return server;
  }

  it.skipIf(!ready)(`always allows a tool of an MCP server for the session (${version})`, async () => {
    const server = await serveShop();
    const { id } = await server.session();
    const page = await openAs(open(), server, "driver", id);
    await server.say(id, order({ text: "Once." }));
    await card(page, ORDER).getByText("Use order of shop?").waitFor({ timeout: 60_000 });
    await card(page, ORDER).getByText("mcp__shop__order", { exact: true }).waitFor();
    await press(page, ORDER, "Always allow…");
    await cardIsReady(page, ORDER);
    await card(page, ORDER)
      .getByRole("menuitem", { name: /^mcp__shop__order \(every call\).*For this session/ })
      .click();
    await press(page, FORM, "Decline");
    await said(page, "Once.").first().waitFor({ timeout: 60_000 });
    // The tool runs at once, so its form is the next request.
    await server.say(id, order({ text: "Twice." }));
    await press(page, FORM, "Decline");
    await said(page, "Twice.").first().waitFor({ timeout: 60_000 });
    await server.settled(id);
    const audit = await server.api<{ entries: { detail?: string }[] }>("GET", "v1/audit");
    expect(audit.entries.filter((entry) => entry.detail?.includes('"destination":"session"'))).toHaveLength(1);
  });

  it.skipIf(!ready)(`lets an MCP server ask with a form (${version})`, async () => {
    const server = await serveShop();
    const { id } = await server.session();
    const page = await openAs(open(), server, "approver", id);
    await server.say(id, order({ text: "Ordered." }));
    await press(page, ORDER, "Allow once");
    await card(page, FORM).getByText("What should it be?").waitFor({ timeout: 60_000 });
    await card(page, FORM).getByLabel("Size").selectOption("Large");
    await card(page, FORM).getByLabel("Count").fill("3");
    await press(page, FORM, "Send");
    await said(page, "Ordered.").first().waitFor({ timeout: 60_000 });
    const log = await fetch(new URL(`v1/sessions/${id}/log`, server.url), {
      headers: { Authorization: `Bearer ${server.token}` },
    });
    const heard = (await log.text()).replaceAll("\\", "");
    expect(heard).toMatch(
      /The shop heard \{"action":"accept","content":\{("count":3,"size":"l"|"size":"l","count":3)\}\}/,
    );
  });
});
