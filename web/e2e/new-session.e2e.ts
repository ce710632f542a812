// The dialog that creates a session.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { linkTo, openAs, PHONE, said, screenshot, violations } from "./browser.ts";
import type { SessionInfo } from "../src/lib/api/schema.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const start = script({ tool: "Bash", input: { command: "mkdir made" } }, { text: "The end." });

describe("a new session", () => {
  for (const [name, viewport] of [
    ["desktop", { width: 1280, height: 800 }],
    ["phone", PHONE],
  ] as const) {
    it(`is created with pre-approved tools and a system prompt, on a ${name}`, async () => {
      const server = await serve({ allowTools: ["Bash(mkdir:*)"] });
      const page = await open().visit(server, server.link, { viewport });
      await page.getByRole("button", { name: "New session" }).first().click();
      const dialog = page.getByRole("dialog", { name: "New session" });
      await dialog.getByLabel("First message").fill(start);
      // What most people do not need is hidden.
      const tools = dialog.getByLabel("Allowed tools");
      expect(await tools.isVisible()).toBe(false);
      await dialog.getByText("Advanced").click();
      await tools.fill("Read, Bash(mkdir:*), Bash(rm:*)");
      await dialog.getByLabel("Add to the system prompt").fill("Answer in French.");
      await dialog.getByRole("button", { name: "Start" }).click();
      // A refusal is shown next to its field, and nothing that was typed is lost.
      const refusal = dialog.getByText("`Bash(rm:*)` can't be pre-approved on this server");
      await refusal.waitFor();
      expect(await tools.evaluate((field) => field === document.activeElement)).toBe(true);
      expect(await tools.getAttribute("aria-invalid")).toBe("true");
      await refusal.scrollIntoViewIfNeeded();
      await screenshot(page, `new-session-${name}`);
      expect(await violations(page)).toEqual([]);
      await tools.fill("Read\nBash(mkdir:*)");
      expect(await refusal.count()).toBe(0);
      const sent = page.waitForRequest((request) => request.method() === "POST" && /sessions$/.test(request.url()));
      await dialog.getByRole("button", { name: "Start" }).click();
      const body = (await sent).postDataJSON() as { allowed_tools: string[]; append_system_prompt: string };
      expect(body.allowed_tools).toEqual(["Read", "Bash(mkdir:*)"]);
      expect(body.append_system_prompt).toBe("Answer in French.");
      await said(page, "The end.").waitFor();
      expect(existsSync(join(server.root, "made"))).toBe(true);
    });
  }

  it("says at the field which folders are allowed", async () => {
    const server = await serve();
    const page = await open().visit(server, server.link);
    await page.getByRole("button", { name: "New session" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    const folder = dialog.getByLabel("Folder");
    await folder.fill("/etc");
    await dialog.getByRole("button", { name: "Start" }).click();
    await dialog.getByText(`Allowed here: ${server.root}`).waitFor();
    expect(await folder.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await violations(page)).toEqual([]);
    await folder.fill(server.root);
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.getByText("No messages yet.").waitFor();
  });
});

describe("a new session in a git worktree", () => {
  it("works in a folder and on a branch of its own, and says why it cannot", async () => {
    const server = await serve();
    const page = await open().visit(server, server.link);
    const dialog = page.getByRole("dialog", { name: "New session" });
    await page.getByRole("button", { name: "New session" }).first().click();
    await dialog.getByText("Advanced").click();
    await dialog.getByLabel("New branch").fill("try/one");
    await dialog.getByRole("button", { name: "Start" }).click();
    await dialog.getByText("is not in a git repository").waitFor();
    const env = { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const git = (...args: string[]) => execFileSync("git", args, { cwd: server.root, env });
    git("init", "-q", "-b", "main");
    git("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty", "-m", "Begin");
    await dialog.getByLabel("New branch").fill("--force");
    await dialog.getByRole("button", { name: "Start" }).click();
    await dialog.getByText("must not begin with `-`").waitFor();
    await dialog.getByLabel("New branch").fill("try/one");
    await dialog.getByLabel("First message").fill(script({ text: "The end." }));
    await dialog.getByRole("button", { name: "Start" }).click();
    await said(page, "The end.").waitFor();
    const { sessions } = await server.api<{ sessions: SessionInfo[] }>("GET", "v1/sessions");
    expect(sessions.map((info) => info.cwd)).toEqual([join(server.root, ".weir/worktrees/try-one")]);
  });
});

describe("what is typed for a new session", () => {
  for (const [how, close] of [
    ["Escape", (page: Page) => page.keyboard.press("Escape")],
    ["a click outside the dialog", (page: Page) => page.mouse.click(5, 5)],
    ["a reload", (page: Page) => page.reload().then(() => undefined)],
  ] as const) {
    it(`survives ${how}, and is gone once the session exists`, async () => {
      const server = await serve();
      const page = await open().visit(server, server.link);
      const dialog = page.getByRole("dialog", { name: "New session" });
      const begin = () => page.getByRole("button", { name: "New session" }).first().click();
      await begin();
      await dialog.getByLabel("First message").fill("Half a thought");
      await dialog.getByLabel("Cost limit").fill("2.5");
      await dialog.getByText("Advanced").click();
      await dialog.getByLabel("Add to the system prompt").fill("Be brief.");
      await close(page);
      await dialog.waitFor({ state: "detached" });
      await begin();
      expect(await dialog.getByLabel("First message").inputValue()).toBe("Half a thought");
      expect(await dialog.getByLabel("Cost limit").inputValue()).toBe("2.5");
      expect(await dialog.getByLabel("Add to the system prompt").inputValue()).toBe("Be brief.");
      await dialog.getByRole("button", { name: "Start" }).click();
      await dialog.waitFor({ state: "detached" });
      await begin();
      expect(await dialog.getByLabel("First message").inputValue()).toBe("");
    });
  }
});

describe("what is wrong with the CLI", () => {
  const notice = (page: Page) => page.getByRole("alert");

  it("is told before the first message: no login, then a login", async () => {
    const server = await serve({ hasKey: false });
    const page = await open().visit(server, server.link);
    await notice(page).getByText("The claude CLI is not logged in").waitFor();
    await notice(page).getByText("log in with /login").waitFor();
    expect(await violations(page)).toEqual([]);
    const cli = readFileSync(join(server.folder, "claude"), "utf8");
    writeFileSync(join(server.folder, "claude"), cli.replace("exec", "ANTHROPIC_API_KEY=simulated exec"));
    await until("it is looked at again", async () => {
      await notice(page)
        .getByRole("button", { name: "Check again" })
        .click({ timeout: 1000 })
        .catch(() => undefined);
      return (await notice(page).count()) === 0;
    });
  });

  it("is told in an open session too: no CLI", async () => {
    const server = await serve({ claude: "/nonexistent/claude" });
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await notice(page).getByText("The claude CLI was not found").waitFor();
    await notice(page).getByText("/nonexistent/claude").waitFor();
  });

  it("is not told to those who cannot repair or use it", async () => {
    const server = await serve({ hasKey: false });
    const { id } = await server.session();
    const page = await openAs(open(), server, "approver", id);
    await page.getByText("You can watch this session").waitFor();
    expect(await notice(page).count()).toBe(0);
  });
});

describe("what is typed for another name", () => {
  it("survives Escape and a click outside the dialog, until it is cancelled", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Old" });
    const page = await open().visit(server, linkTo(server, id));
    const field = page.getByRole("dialog", { name: "Rename" }).getByLabel("Name");
    const rename = async () => {
      await page.getByRole("button", { name: "This session" }).click();
      await page.getByRole("menuitem", { name: "Rename" }).click();
    };
    await rename();
    await field.fill("A new name");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await rename();
    expect(await field.inputValue()).toBe("A new name");
    await page.mouse.click(5, 5);
    await field.waitFor({ state: "detached" });
    await rename();
    expect(await field.inputValue()).toBe("A new name");
    await page.getByRole("button", { name: "Cancel" }).click();
    await rename();
    expect(await field.inputValue()).toBe("Old");
  });
});
