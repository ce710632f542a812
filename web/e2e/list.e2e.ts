// The list of sessions: all of them can be reached, by name, by group and by address.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { composer, linkTo, PHONE, said, send, violations } from "./browser.ts";
import type { SessionInfo, TranscriptPage } from "../src/lib/api/schema.ts";
import { program, script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const SCREENS = [
  ["wide screen", {}],
  ["phone", { viewport: PHONE, hasTouch: true, isMobile: true }],
] as const;

describe("the list of sessions", () => {
  it("reaches all of them, not only the newest hundred", async () => {
    const server = await serve();
    for (let at = 1; at <= 210; at += 1) await server.session({ name: `Session ${at}` });
    const page = await open().visit(server, server.link);
    const list = page.getByRole("navigation", { name: "Sessions" });
    const names = list.locator(".name");
    const older = list.getByRole("button", { name: "Show older sessions" });
    await list.getByText("Session 210", { exact: true }).waitFor();
    for (const known of [100, 200]) {
      await until(`${known} are listed`, async () => (await names.count()) === known);
      await older.click();
    }
    await until("all are listed", async () => (await names.count()) === 210);
    expect(await older.count()).toBe(0);
    await list.getByText("Session 1", { exact: true }).click();
    await page.getByRole("heading", { name: "Session 1", exact: true }).waitFor();
  });

  it("calls a session without a name after its first message", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await page.getByRole("heading", { name: "work", exact: true }).waitFor();
    await send(page, `Speed up the search\n${script({ text: "Done." })}`);
    await said(page, "Done.").waitFor();
    await page.getByRole("heading", { name: "Speed up the search", exact: true }).waitFor();
    await page.getByRole("navigation", { name: "Sessions" }).getByText("Speed up the search").waitFor();
    expect(await page.title()).toBe("Speed up the search · Weir");
  });

  it("is divided by what needs input, what runs and age, or by project", async () => {
    const server = await serve();
    const other = join(server.root, "other");
    mkdirSync(other);
    await server.session({ name: "Rests" });
    const kept = await server.session({ name: "Kept", cwd: other });
    await server.api("PATCH", `v1/sessions/${kept.id}`, { pinned: true });
    const asks = await server.session({ name: "Asks" });
    await server.say(asks.id, script({ tool: "Bash", input: { command: "mkdir a" } }, { text: "x" }));
    await until("it asks", async () => (await server.info(asks.id)).status === "waiting");
    const page = await open().visit(server, server.link);
    const list = page.getByRole("navigation", { name: "Sessions" });
    const groups = async () => {
      const sections = await list.getByRole("region").all();
      return Promise.all(
        sections.map(async (section) => [
          await section.getByRole("heading").textContent(),
          ...(await section.locator(".name").allTextContents()).map((text) => text.replace(/^pinned/, "").trim()),
        ]),
      );
    };
    await list.getByText("Asks").waitFor();
    expect(await groups()).toEqual([
      ["Needs your answer", "Asks"],
      ["Pinned", "Kept"],
      ["Today", "Rests"],
    ]);
    expect(await violations(page)).toEqual([]);
    // The keys follow the order on the screen.
    const shown = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    for (const name of ["Asks", "Kept", "Rests"]) {
      await page.keyboard.press("j");
      await shown(name);
    }
    await list.getByRole("button", { name: "Filter and group" }).click();
    await list.getByRole("menuitemradio", { name: "Group by project" }).click();
    const byProject = [
      ["Needs your answer", "Asks"],
      ["other", "Kept"],
      ["work", "Rests"],
    ];
    expect(await groups()).toEqual(byProject);
    await page.reload();
    await list.getByText("Asks").waitFor();
    expect(await groups()).toEqual(byProject);
  });
});

describe("the filter", () => {
  for (const [name, options] of SCREENS) {
    it(`narrows the list to what needs an answer, runs, has failed or is archived, on a ${name}`, async () => {
      const server = await serve();
      await server.session({ name: "Rests" });
      const limited = await server.session({ name: "Broke", max_cost_usd: 0.001 });
      await server.say(limited.id, script({ text: "One." }));
      await until("it has failed", async () => (await server.info(limited.id)).status === "failed");
      const asks = await server.session({ name: "Asks" });
      await server.say(asks.id, script({ tool: "Bash", input: { command: "mkdir a" } }, { text: "x" }));
      await until("it asks", async () => (await server.info(asks.id)).status === "waiting");
      const busy = await server.session({ name: "Works" });
      await server.say(busy.id, script({ sleep: 600, text: "Late." }));
      await until("it works", async () => (await server.info(busy.id)).status === "running");
      const away = await server.session({ name: "Away" });
      await server.api("PATCH", `v1/sessions/${away.id}`, { archived: true });
      const page = await open().visit(server, server.link, options);
      const list = page.getByRole("navigation", { name: "Sessions" });
      const names = () => list.locator(".name bdi").allInnerTexts();
      await list.getByText("Asks").waitFor();
      for (const [filter, shown] of [
        ["Needs your answer", "Asks"],
        ["Running", "Works"],
        ["Failed or interrupted", "Broke"],
        ["Archived", "Away"],
      ] as const) {
        await list.getByRole("button", { name: "Filter and group" }).click();
        await list.getByRole("menuitemradio", { name: filter }).click();
        await until(`only ${shown} is listed`, async () => (await names()).join() === shown);
      }
      expect(await violations(page)).toEqual([]);
      // What was put away can be taken back.
      await list.getByText("Away").click();
      await page.getByRole("button", { name: "This session" }).click();
      await page.getByRole("menuitem", { name: "Unarchive" }).click();
      await until("it is not archived", async () => !(await server.info(away.id)).archived);
      if (!(await list.isVisible())) await page.getByRole("button", { name: "Sessions" }).click();
      await list.getByText("No archived sessions.").waitFor();
      await list.getByRole("button", { name: "Show all" }).click();
      await list.getByText("Rests").waitFor();
      await list.getByText("Away").waitFor();
    });
  }

  it("finds a failed session that is older than the newest hundred", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Broke", max_cost_usd: 0.001 });
    await server.say(id, script({ text: "One." }));
    await until("it has failed", async () => (await server.info(id)).status === "failed");
    for (let at = 1; at <= 110; at += 1) await server.session({ name: `Session ${at}` });
    const page = await open().visit(server, server.link);
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.getByText("Session 110", { exact: true }).waitFor();
    expect(await list.getByText("Broke").count()).toBe(0);
    await list.getByRole("button", { name: "Filter and group" }).click();
    await list.getByRole("menuitemradio", { name: "Failed or interrupted" }).click();
    await list.getByText("Broke").waitFor();
  });
});

describe("the search", () => {
  it("shows where a session mentions the words, and takes the reader there", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Mills" });
    await server.session({ name: "Weirs and mills" });
    await server.say(id, script({ text: "A weir is a low dam; the miller opens its gate." }));
    await server.settled(id);
    const page = await open().visit(server, server.link);
    const list = page.getByRole("navigation", { name: "Sessions" });
    const search = page.getByRole("searchbox", { name: "Search sessions" });
    await search.fill("miller");
    const found = list.getByRole("button", { name: /Mills/ });
    await found.locator(".snippet mark").getByText("miller", { exact: true }).waitFor();
    expect(await found.locator(".snippet").innerText()).toContain("low dam");
    expect(await violations(page)).toEqual([]);
    await found.click();
    const bar = page.getByRole("search", { name: "Find in this session" });
    expect(await bar.getByRole("searchbox").inputValue()).toBe("miller");
    await bar.getByRole("status").getByText("2 of 2").waitFor();
    // A name alone is found without a snippet.
    await search.fill("weirs and");
    await list.getByText("Weirs and mills").waitFor();
    expect(await list.locator(".snippet").count()).toBe(0);
    await search.fill("nothing like it");
    await list.getByText("No matches").waitFor();
  });
});

describe("a session with background work only", () => {
  it("does not look busy", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Serves", allowed_tools: ["Bash"] });
    const input = { command: "sleep 600", run_in_background: true, description: "Wait" };
    await server.say(id, script({ tool: "Bash", input }, { text: "It runs." }));
    await until("its turn is over", async () => (await server.info(id)).background === true);
    const page = await open().visit(server, server.link);
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list
      .getByRole("button", { name: /Serves/ })
      .getByText("In the background", { exact: true })
      .waitFor();
    expect(await list.getByRole("heading", { name: "Running" }).count()).toBe(0);
  });
});

describe("the address", () => {
  it("of a message opens the session at it, however old it is", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Long" });
    await server.say(id, script({ text: "The very first answer." }));
    await server.settled(id);
    for (let at = 0; at < 220; at += 1) await server.say(id, script({ text: `Line ${at}.` }));
    await server.settled(id);
    const { entries } = await server.api<TranscriptPage>("GET", `v1/sessions/${id}/transcript?before=20&limit=20`);
    const wanted = entries.find(({ body }) => body.kind === "text" && body.text.startsWith("The very first"))!.id;
    const context = { permissions: ["clipboard-read", "clipboard-write"] };
    const page = await open().visit(server, `${linkTo(server, id)}&entry=${wanted}`, context);
    await said(page, "The very first answer.").waitFor();
    const message = page.locator(".marked", { hasText: "The very first answer." });
    await message.waitFor();
    expect(await page.getByText("Line 219.").count()).toBe(0);
    await message.hover();
    await message.getByRole("button", { name: "Copy link" }).click();
    const address = await page.evaluate(() => navigator.clipboard.readText());
    expect(address).toBe(`${server.url}#session=${id}&entry=${wanted}`);
    // One that does not exist is told.
    const other = await page.context().newPage();
    await other.goto(`${server.url}#session=${id}&entry=99999`);
    await other.getByText("That message is not in this session.").waitFor();
    await said(other, "Line 219.").waitFor();
  });

  it("names the session, opens it in another tab, and holds no token", async () => {
    const server = await serve();
    const [one, two] = [await server.session({ name: "One" }), await server.session({ name: "Two" })];
    const page = await open().visit(server, linkTo(server, one.id));
    const shown = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await shown("One");
    await page.waitForURL(`${server.url}#session=${one.id}`);
    await page.getByRole("navigation", { name: "Sessions" }).getByText("Two").click();
    await shown("Two");
    expect(page.url()).toBe(`${server.url}#session=${two.id}`);
    await page.goBack();
    await shown("One");
    expect(page.url()).toBe(`${server.url}#session=${one.id}`);
    // In the same tab, as from a bookmark.
    await page.evaluate((id) => (location.hash = `session=${id}`), two.id);
    await shown("Two");
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await tab.getByRole("heading", { level: 1, name: "Two", exact: true }).waitFor();
  });

  it("is kept while signing in", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Wanted" });
    await server.session({ name: "Another" });
    const page = await open().visit(server, `${server.url}#session=${id}`);
    await page.getByLabel("Token").fill(server.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Wanted", exact: true }).waitFor();
    await composer(page).waitFor();
  });
});

describe("without an open session", () => {
  for (const [name, options] of SCREENS) {
    it(`the page offers three ways to start, and sends nothing by itself, on a ${name}`, async () => {
      const server = await serve();
      const page = await open().visit(server, server.link, options);
      await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
      expect(await violations(page)).toEqual([]);
      const prompts = page.getByRole("list", { name: "Start with" }).getByRole("button");
      expect(await prompts.count()).toBe(3);
      expect(await page.getByLabel("Folder").inputValue()).toBe(server.root);
      await prompts.first().click();
      await until("the text is in the composer", async () =>
        (await composer(page).inputValue()).startsWith("Explain what this project does"),
      );
      const { sessions } = await server.api<{ sessions: SessionInfo[] }>("GET", "v1/sessions");
      expect(sessions.map(({ cwd, has_process, queued }) => [cwd, has_process, queued])).toEqual([
        [server.root, false, 0],
      ]);
    });
  }

  it("a viewer is not offered what they may not do, and finds recent sessions", async () => {
    const server = await serve();
    await server.session({ name: "Seen" });
    const { token } = await server.api<{ token: string }>("POST", "v1/tokens", { name: "eve", role: "viewer" });
    const page = await open().visit(server, `${server.url}#token=${token}`);
    await page.getByRole("region", { name: "Recent sessions" }).getByRole("button", { name: /Seen/ }).click();
    await page.getByRole("heading", { level: 1, name: "Seen", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "New session" }).count()).toBe(0);
  });
});

describe("finding text in a session", () => {
  it("reaches what is not on the screen, also inside folded calls", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    // The outputs, and not the prompts, contain the words.
    const bash = (command: string) => ({ tool: "Bash", input: { command } });
    const prints = (end: string) => bash(`printf 'nee%s' 'dle ${end}'`);
    await server.say(id, script(bash("echo one"), prints("first"), bash("echo two"), { text: "Begun." }));
    await server.settled(id);
    for (let at = 0; at < 150; at += 1) await server.say(id, script({ thinking: `hm ${at}`, text: `Line ${at}.` }));
    await server.say(id, script(prints("last"), { text: "The end." }));
    await server.settled(id);
    const page = await open().visit(server, linkTo(server, id));
    await said(page, "The end.").waitFor();
    const talk = page.getByRole("log", { name: "Conversation" });
    const run = talk.getByRole("button", { name: "Ran 3 commands" });
    expect(await run.count()).toBe(0);
    await page.keyboard.press("Control+f");
    const bar = page.getByRole("search", { name: "Find in this session" });
    const status = bar.getByRole("status");
    await bar.getByRole("searchbox").fill("NEEDLE");
    await status.getByText("2 found").waitFor();
    await page.keyboard.press("Enter");
    await status.getByText("2 of 2").waitFor();
    await talk.getByText("needle last", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await status.getByText("1 of 2").waitFor();
    // A folded run opens where the text is in one of its calls.
    await talk.getByRole("button", { name: "Ran 3 commands", expanded: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await bar.getByRole("button", { name: "Next result" }).click();
    await status.getByText("2 of 2").waitFor();
    await bar.getByRole("button", { name: "Previous result" }).click();
    await status.getByText("1 of 2").waitFor();
    await bar.getByRole("searchbox").focus();
    await page.keyboard.press("Escape");
    await bar.waitFor({ state: "detached" });
    await page.keyboard.press("Control+f");
    await bar.getByRole("searchbox").fill("absent");
    await bar.getByText("No matches").waitFor();
  });
});

describe("the first visit", () => {
  it("finds projects and sessions of the terminal, and continues one under its own id", async () => {
    const server = await serve();
    mkdirSync(join(server.root, "mill", ".git"), { recursive: true });
    // What a terminal leaves behind.
    execFileSync(program(), ["simulated-claude", "-p", `Count the mills ${script({ text: "Four mills." })}`], {
      cwd: server.root,
      env: { PATH: process.env["PATH"], HOME: join(server.folder, "home"), ANTHROPIC_API_KEY: "simulated" },
    });
    const found = await server.api<{ sessions: { id: string }[] }>("GET", "v1/past-sessions");
    const cli = found.sessions[0]?.id;
    const page = await open().visit(server, server.link);
    await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
    const past = page.getByRole("region", { name: "From your terminal" });
    await past.getByText("Count the mills").waitFor();
    expect(await page.getByLabel("Folder").locator("option").allTextContents()).toContain(join(server.root, "mill"));
    expect(await violations(page)).toEqual([]);
    await past.getByRole("button").first().click();
    await said(page, "Four mills.").waitFor();
    await send(page, script({ text: "And a weir." }));
    await said(page, "And a weir.").waitFor();
    expect(await said(page, "Four mills.").count()).toBe(1);
    expect(await page.title()).toMatch(/^Count the mills/);
    const { sessions } = await server.api<{ sessions: SessionInfo[] }>("GET", "v1/sessions");
    expect(sessions.map((info) => info.cli_session_id)).toEqual([cli]);
  });
});
