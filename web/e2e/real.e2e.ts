// One conversation on the real CLI, which talks to a scripted API on this machine. It needs the pinned version
// (scripts/setup-real-cli.sh) and `cargo build -p weir-testkit --bin scripted-api`; where they are missing it is passed
// over, and says so.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { conversation, linkTo, said, screenshot, send, violations } from "./browser.ts";
import { built, script, until } from "./server.ts";
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

describe("the real CLI", () => {
  it.skipIf(!ready)(`uses a tool with permission and a sub-agent (${version})`, async () => {
    const url = await startApi();
    const server = await serve({
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
});
