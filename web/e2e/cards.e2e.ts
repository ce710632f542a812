// Every button of every card, for every role that may press it.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Role, SessionInfo } from "../src/lib/api/schema.ts";
import { buttonsOf, card, linkTo, openAs, PHONE, ready, said, screenshot, violations } from "./browser.ts";
import { script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const touch = { viewport: PHONE, hasTouch: true, isMobile: true };
const make = (name: string) => ({ tool: "Bash", input: { command: `mkdir ${name}` } });

/** A session that asks, and a page opened with this role. */
async function asked(role: Role, steps: Record<string, unknown>[], more: Record<string, unknown> = {}) {
  const server = await serve();
  const session = await server.session(more);
  await server.say(session.id, script(...steps, { text: "The end." }));
  const page = await openAs(open(), server, role, session.id);
  return { server, session, page };
}

async function over(server: WeirServer, page: Page, session: SessionInfo): Promise<void> {
  await said(page, "The end.").last().waitFor();
  await server.settled(session.id);
}

async function press(page: Page, label: string, name: string | RegExp): Promise<void> {
  await ready(page, label);
  await card(page, label).getByRole("button", { name }).click();
}

describe("the permission card", () => {
  const BASH = "Permission for Bash";

  it("shows a viewer the request, without buttons", async () => {
    const { page } = await asked("viewer", [make("a")]);
    await card(page, BASH).getByText("mkdir a").waitFor();
    await card(page, BASH).getByText("View only").waitFor();
    expect(await buttonsOf(page, BASH)).toEqual([]);
  });

  it("lets an approver allow once", async () => {
    const { server, session, page } = await asked("approver", [make("a")]);
    await ready(page, BASH);
    expect(await buttonsOf(page, BASH)).toEqual(["Allow once", "Deny…"]);
    await press(page, BASH, "Allow once");
    await over(server, page, session);
    expect(existsSync(join(server.root, "a"))).toBe(true);
  });

  it("lets an approver deny, go back, and deny with a reason", async () => {
    const { server, session, page } = await asked("approver", [make("a")]);
    await press(page, BASH, "Deny…");
    expect(await buttonsOf(page, BASH)).toEqual(["Back", "Deny"]);
    await press(page, BASH, "Back");
    await press(page, BASH, "Deny…");
    await card(page, BASH)
      .getByLabel(/What should it do instead/)
      .fill("Use another name.");
    await press(page, BASH, "Deny");
    await over(server, page, session);
    expect(existsSync(join(server.root, "a"))).toBe(false);
    expect(await log(server, session)).toContain("Use another name.");
  });

  it("lets a driver edit, go back, and allow as edited", async () => {
    const { server, session, page } = await asked("driver", [make("a")]);
    await ready(page, BASH);
    expect(await buttonsOf(page, BASH)).toEqual(["Allow once", "Always allow…", "Edit…", "Deny…"]);
    await press(page, BASH, "Edit…");
    expect(await buttonsOf(page, BASH)).toEqual(["Allow as edited", "Back"]);
    await press(page, BASH, "Back");
    await press(page, BASH, "Edit…");
    await card(page, BASH).getByLabel("Command").last().fill("mkdir edited");
    await press(page, BASH, "Allow as edited");
    await over(server, page, session);
    expect(existsSync(join(server.root, "edited"))).toBe(true);
    expect(existsSync(join(server.root, "a"))).toBe(false);
  });

  it("lets a driver edit arguments as JSON, and reports errors", async () => {
    const { server, session, page } = await asked("driver", [
      { tool: "Write", input: { file_path: "a.txt", content: "original" } },
    ]);
    const WRITE = "Permission for Write";
    await press(page, WRITE, "Edit…");
    await card(page, WRITE).getByLabel("Arguments").last().fill("{");
    await press(page, WRITE, "Allow as edited");
    await card(page, WRITE)
      .getByText(/not valid JSON/)
      .waitFor();
    const input = { file_path: join(server.root, "a.txt"), content: "edited" };
    await card(page, WRITE).getByLabel("Arguments").last().fill(JSON.stringify(input));
    await press(page, WRITE, "Allow as edited");
    await over(server, page, session);
    expect(readFileSync(join(server.root, "a.txt"), "utf8")).toBe("edited");
  });

  const tools: [string, Record<string, unknown>, RegExp][] = [
    ["Bash", { command: "mkdir -p a" }, /Bash\(mkdir/],
    ["WebFetch", { url: "http://127.0.0.1:9/x", prompt: "what" }, /WebFetch\(domain:127\.0\.0\.1\)/],
    ["WebSearch", { query: "weirs" }, /WebSearch \(every call\)/],
    ["Write", { file_path: "a.txt", content: "1" }, /Accept all edits/],
  ];
  for (const [tool, input, rule] of tools) {
    it(`lets a driver always allow ${tool} for the session, by the exact rule`, async () => {
      const { server, session, page } = await asked("driver", [{ tool, input }]);
      const label = `Permission for ${tool}`;
      await press(page, label, "Always allow…");
      const menu = card(page, label).getByRole("menu", { name: "Always allow" });
      const item = menu.getByRole("menuitem", { name: rule });
      await item.waitFor();
      // A driver cannot store rules.
      for (const text of await menu.getByRole("menuitem").allTextContents()) expect(text).toContain("For this session");
      await press(page, label, "Back");
      await press(page, label, "Always allow…");
      await ready(page, label);
      await item.click();
      await over(server, page, session);
      await server.say(session.id, script({ tool, input }, { text: "Not asked." }));
      await said(page, "Not asked.").waitFor();
      expect((await log(server, session)).match(/can_use_tool/g)?.length).toBe(1);
    });
  }

  it("lets a driver accept all edits from the card of an edit", async () => {
    const server = await serve();
    const session = await server.session();
    writeFileSync(join(server.root, "a.txt"), "one\ntwo\n");
    const edit = (old_string: string, new_string: string) => [
      { tool: "Read", input: { file_path: "a.txt" } },
      { tool: "Edit", input: { file_path: "a.txt", old_string, new_string } },
    ];
    await server.say(session.id, script(...edit("one", "1"), ...edit("two", "2"), { text: "The end." }));
    const page = await openAs(open(), server, "driver", session.id);
    const EDIT = "Permission for Edit";
    await card(page, EDIT).getByText("Edit this file?").waitFor();
    await card(page, EDIT).locator(".diff .removed", { hasText: "one" }).waitFor();
    await card(page, EDIT).locator(".diff .added", { hasText: "1" }).waitFor();
    await press(page, EDIT, "Always allow…");
    await ready(page, EDIT);
    await card(page, EDIT)
      .getByRole("menuitem", { name: /Accept all edits.*For this session/ })
      .click();
    await over(server, page, session);
    expect(readFileSync(join(server.root, "a.txt"), "utf8")).toBe("1\n2\n");
  });

  for (const [key, opens] of [
    ["d", /What should it do instead/],
    ["e", "Command"],
  ] as const) {
    it(`opens a field with the key ${key}, and Escape closes only the field`, async () => {
      const { server, session, page } = await asked("driver", [make("a")]);
      const field = card(page, BASH).getByRole("textbox", { name: opens });
      await ready(page, BASH);
      await page.keyboard.press("r");
      await page.keyboard.press(key);
      await field.waitFor();
      await until("the field has the focus", () => field.evaluate((element) => element.matches(":focus")));
      await page.keyboard.press("Escape");
      await field.waitFor({ state: "detached" });
      await until("the card has the focus", () => card(page, BASH).evaluate((element) => element.matches(":focus")));
      await ready(page, BASH);
      await page.keyboard.press("a");
      await over(server, page, session);
      expect(existsSync(join(server.root, "a"))).toBe(true);
    });
  }

  it("offers the rules with the key s, to be chosen with the arrows", async () => {
    const { server, session, page } = await asked("admin", [make("a")]);
    await ready(page, BASH);
    await page.keyboard.press("r");
    await page.keyboard.press("s");
    const menu = card(page, BASH).getByRole("menu", { name: "Always allow" });
    await menu.waitFor();
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    await ready(page, BASH);
    await page.keyboard.press("s");
    await menu.waitFor();
    await ready(page, BASH);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await over(server, page, session);
    const audit = await server.api<{ entries: { detail?: string }[] }>("GET", "v1/audit");
    expect(audit.entries.some((entry) => entry.detail?.includes('"destination":"session"'))).toBe(true);
  });

  it("is answered by touch, with each of its buttons", async () => {
    const server = await serve();
    const session = await server.session();
    const steps = ["a", "b", "c", "d"].map(make);
    await server.say(session.id, script(...steps, { text: "The end." }));
    const page = await openAs(open(), server, "driver", session.id, touch);
    // By touch no keys are shown.
    const tap = async (name: string) => {
      await ready(page, BASH);
      await card(page, BASH).getByRole("button", { name, exact: true }).tap();
    };
    const asks = (name: string) => card(page, BASH).getByText(`mkdir ${name}`, { exact: true }).first().waitFor();
    await asks("a");
    await tap("Allow once");
    await asks("b");
    await tap("Deny…");
    await tap("Deny");
    await asks("c");
    await tap("Edit…");
    await card(page, BASH).getByLabel("Command").last().fill("mkdir edited");
    await tap("Allow as edited");
    await asks("d");
    await tap("Always allow…");
    await ready(page, BASH);
    await card(page, BASH)
      .getByRole("menuitem", { name: /Bash\(mkdir/ })
      .first()
      .tap();
    await over(server, page, session);
    const made = ["a", "b", "c", "edited", "d"].map((name) => existsSync(join(server.root, name)));
    expect(made).toEqual([true, false, false, true, true]);
  });

  it("lets an admin store a rule where the card says", async () => {
    const { server, session, page } = await asked("admin", [make("a")]);
    await press(page, BASH, "Always allow…");
    const menu = card(page, BASH).getByRole("menu", { name: "Always allow" });
    await menu.getByRole("menuitem", { name: /Bash\(mkdir.*For this session/ }).waitFor();
    await ready(page, BASH);
    const stored = /Bash\(mkdir.*In this project, for you.*settings\.local\.json/;
    await menu.getByRole("menuitem", { name: stored }).click();
    await over(server, page, session);
    const audit = await server.api<{ entries: { detail?: string }[] }>("GET", "v1/audit");
    expect(audit.entries.some((entry) => entry.detail?.includes('"destination":"localSettings"'))).toBe(true);
  });

  it("shows an overwrite as removed lines, and a new file as new", async () => {
    const server = await serve();
    const session = await server.session();
    writeFileSync(join(server.root, "notes.md"), "# Notes\n\nThe only copy.\n");
    const write = (file_path: string) => ({ tool: "Write", input: { file_path, content: "# Notes\n" } });
    await server.say(session.id, script(write("notes.md"), write("new.md"), { text: "The end." }));
    const page = await openAs(open(), server, "approver", session.id);
    const shown = card(page, "Permission for Write");
    await shown.getByText("Replace this file?").waitFor();
    await shown.getByText("This file exists. 2 lines of it will be lost.").waitFor();
    await shown.locator(".removed", { hasText: "The only copy." }).waitFor();
    await press(page, "Permission for Write", "Allow once");
    await shown.getByText("Create this file?").waitFor();
    await shown.getByText("New file").waitFor();
    await press(page, "Permission for Write", "Allow once");
    await over(server, page, session);
    expect(readFileSync(join(server.root, "notes.md"), "utf8")).toBe("# Notes\n");
  });

  it("hides nothing of a command", async () => {
    const command = `mkdir a${"\n".repeat(31)}rm -rf \u202edrow\u202c b\u200b`;
    const { page } = await asked("approver", [{ tool: "Bash", input: { command, dangerouslyDisableSandbox: true } }]);
    const shown = card(page, BASH);
    await shown.getByText("⟨30 blank lines⟩").waitFor();
    expect(await shown.getByLabel("Command").innerText()).toBe(
      "mkdir a\n⟨30 blank lines⟩\nrm -rf ⟨U+202E⟩drow⟨U+202C⟩ b⟨U+200B⟩",
    );
    await shown.getByText("32 lines · 3 hidden characters").waitFor();
    // An unknown argument is shown too.
    await shown.getByText("dangerouslyDisableSandbox").waitFor();
    // All of it is visible, or the card says above it that there is more.
    const long = Array.from({ length: 60 }, (_, at) => `mkdir ${at}`).join("\n");
    const other = await asked("approver", [{ tool: "Bash", input: { command: long } }]);
    await card(other.page, BASH).getByText("60 lines · scroll to read all of it").waitFor();
  });

  it("shows and follows what the CLI says about a request", async () => {
    const ask_with = {
      default_to_no: true,
      suppress_always_allow_rule: true,
      classifier_approvable: false,
      decision_reason_type: "safetyCheck",
      matched_ask_rule: { source: "userSettings", tool_name: "Bash", rule_content: "mkdir:*" },
      mcp_server: { name: "files", source: "project" },
    };
    const { server, session, page } = await asked("admin", [{ ...make("a"), misbehave: { ask_with } }]);
    const shown = card(page, BASH);
    await ready(page, BASH);
    expect(await buttonsOf(page, BASH)).toEqual(["Allow once", "Edit…", "Deny…"]);
    await shown.getByText("A safety check asks for it.").waitFor();
    await shown.getByText("Bash(mkdir:*)").waitFor();
    await shown.getByText("in your settings asks for it.").waitFor();
    await shown.getByText("files").waitFor();
    await shown.getByText("A safety check wants a person to decide this.").waitFor();
    expect(await shown.getByRole("button", { name: "Allow once" }).getAttribute("class")).not.toContain("primary");
    await page.keyboard.press("r");
    await page.keyboard.press("a");
    // A key that works proves that the one before did nothing.
    await page.keyboard.press("d");
    await shown.getByLabel(/What should it do instead/).waitFor();
    await page.keyboard.press("Escape");
    await press(page, BASH, "Allow once");
    await over(server, page, session);
    expect(existsSync(join(server.root, "a"))).toBe(true);
  });

  it("says that only a person may decide, if the CLI says so", async () => {
    // As an admin, who could otherwise let it run unasked.
    const { server, session, page } = await asked("admin", [
      { ...make("a"), misbehave: { ask_with: { requires_user_interaction: true } } },
    ]);
    await card(page, BASH).getByText("Only a person may decide this.").waitFor();
    await press(page, BASH, "Allow once");
    await over(server, page, session);
    expect(existsSync(join(server.root, "a"))).toBe(true);
  });

  it("explains why it asks if the CLI gives no reason", async () => {
    const { page } = await asked("approver", [make("a")]);
    await card(page, BASH).getByText("No permission rule covers this.").waitFor();
  });
});

describe("the plan card", () => {
  const plan = { tool: "ExitPlanMode", input: { plan: "# The plan\n\n1. Do it." } };
  const write = { tool: "Write", input: { file_path: "a.txt", content: "1" } };
  const PLAN = "Plan";

  /** The session was in this mode before it started to plan. */
  async function planned(role: Role, before: string) {
    const server = await serve();
    const session = await server.session({ permission_mode: before });
    await server.say(session.id, script({ text: "Hello." }));
    await server.settled(session.id);
    await server.api("PUT", `v1/sessions/${session.id}/permission-mode`, { mode: "plan" });
    await server.say(session.id, script(plan, write, { text: "The end." }));
    const page = await openAs(open(), server, role, session.id);
    await card(page, PLAN).getByText("Do it.").waitFor();
    return { server, session, page };
  }

  it("shows a viewer the plan, without buttons", async () => {
    const { page } = await planned("viewer", "default");
    await card(page, PLAN).getByText("View only").waitFor();
    expect(await buttonsOf(page, PLAN)).toEqual([]);
  });

  for (const before of ["default", "acceptEdits"]) {
    it(`lets an approver approve it, and then it asks for edits (${before} before)`, async () => {
      const { server, session, page } = await planned("approver", before);
      await ready(page, PLAN);
      expect(await buttonsOf(page, PLAN)).toEqual(["Approve, ask before edits", "Keep planning…"]);
      await press(page, PLAN, "Approve, ask before edits");
      await card(page, "Permission for Write").waitFor();
      expect(existsSync(join(server.root, "a.txt"))).toBe(false);
      await press(page, "Permission for Write", "Allow once");
      await over(server, page, session);
      expect((await server.info(session.id)).permission_mode).toBe("default");
    });
  }

  for (const role of ["driver", "admin"] as const) {
    it(`lets a ${role} approve it and accept edits`, async () => {
      const { server, session, page } = await planned(role, "default");
      await ready(page, PLAN);
      expect(await buttonsOf(page, PLAN)).toEqual([
        "Approve, ask before edits",
        "Approve, accept edits",
        "Keep planning…",
      ]);
      await press(page, PLAN, "Approve, accept edits");
      await over(server, page, session);
      expect(existsSync(join(server.root, "a.txt"))).toBe(true);
      expect((await server.info(session.id)).permission_mode).toBe("acceptEdits");
    });
  }

  for (const [key, mode] of [
    ["a", "default"],
    ["s", "acceptEdits"],
  ] as const) {
    it(`is approved with the key ${key}, in the mode ${mode}`, async () => {
      const { server, session, page } = await planned("driver", "default");
      await ready(page, PLAN);
      await page.keyboard.press("r");
      await page.keyboard.press(key);
      if (mode === "default") await press(page, "Permission for Write", "Allow once");
      await over(server, page, session);
      expect((await server.info(session.id)).permission_mode).toBe(mode);
    });
  }

  it("is rejected with the keyboard alone, and Escape closes only the field", async () => {
    const { server, session, page } = await planned("approver", "default");
    const field = card(page, PLAN).getByLabel(/What should be different/);
    await ready(page, PLAN);
    await page.keyboard.press("r");
    await page.keyboard.press("d");
    await field.waitFor();
    await until("the field has the focus", () => field.evaluate((element) => element.matches(":focus")));
    await page.keyboard.type("Smaller");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await ready(page, PLAN);
    await page.keyboard.press("d");
    expect(await field.inputValue()).toBe("Smaller");
    await page.keyboard.type(" steps.");
    await page.keyboard.press("Enter");
    await press(page, "Permission for Write", "Allow once");
    await over(server, page, session);
    expect(await log(server, session)).toContain("Smaller steps.");
  });

  it("says above a long plan that there is more of it", async () => {
    const server = await serve();
    const session = await server.session({ permission_mode: "plan" });
    const long = Array.from({ length: 60 }, (_, at) => `${at + 1}. Step ${at + 1}`).join("\n");
    await server.say(session.id, script({ tool: "ExitPlanMode", input: { plan: long } }, { text: "The end." }));
    const page = await openAs(open(), server, "approver", session.id, touch);
    const more = card(page, PLAN).getByText("Scroll to read all of it");
    await more.waitFor();
    const [told, decide] = [await more.boundingBox(), await card(page, PLAN).getByText("Approve").boundingBox()];
    expect(told!.y).toBeLessThan(decide!.y);
    await card(page, PLAN).getByText("Step 60").scrollIntoViewIfNeeded();
  });

  it("lets an approver keep planning with a reason, after going back once", async () => {
    const { server, session, page } = await planned("approver", "default");
    await press(page, PLAN, "Keep planning…");
    expect(await buttonsOf(page, PLAN)).toEqual(["Back", "Keep planning"]);
    await press(page, PLAN, "Back");
    await press(page, PLAN, "Keep planning…");
    await card(page, PLAN)
      .getByLabel(/What should be different/)
      .fill("Think of the tests.");
    await press(page, PLAN, "Keep planning");
    // The script continues with a write, for which plan mode asks.
    await press(page, "Permission for Write", "Deny…");
    await press(page, "Permission for Write", "Deny");
    await over(server, page, session);
    expect(await log(server, session)).toContain("Think of the tests.");
    expect((await server.info(session.id)).permission_mode).toBe("plan");
  });
});

describe("the question card", () => {
  const questions = [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }], multiSelect: false },
    { question: "Which fruits?", header: "Fruit", options: [{ label: "Apple" }, { label: "Pear" }], multiSelect: true },
  ];
  const ask = { tool: "AskUserQuestion", input: { questions } };
  const QUESTION = "Question";

  it("shows a viewer the questions, without buttons", async () => {
    const { page } = await asked("viewer", [ask]);
    await card(page, QUESTION).getByText("Which colour?").waitFor();
    expect(await buttonsOf(page, QUESTION)).toEqual([]);
    expect(await card(page, QUESTION).getByLabel("Red").isDisabled()).toBe(true);
  });

  it("is answered with the keyboard alone: numbers for each question, several for one", async () => {
    const { server, session, page } = await asked("approver", [ask]);
    await ready(page, QUESTION);
    expect(await buttonsOf(page, QUESTION)).toEqual(["Answer", "Decline…"]);
    await page.keyboard.press("r");
    for (const key of ["2", "1", "2", "1"]) await page.keyboard.press(key);
    expect(await card(page, QUESTION).getByLabel("Blue").isChecked()).toBe(true);
    expect(await card(page, QUESTION).getByLabel("Pear").isChecked()).toBe(true);
    expect(await card(page, QUESTION).getByLabel("Apple").isChecked(), "a second press clears it").toBe(false);
    await page.keyboard.press("3");
    await page.keyboard.type("Quince");
    await until("the growing card is ready again", async () => {
      if ((await card(page, QUESTION).count()) > 0) await page.keyboard.press("Enter");
      return (await card(page, QUESTION).count()) === 0;
    });
    await over(server, page, session);
    expect(await log(server, session)).toContain("Pear, Quince");
  });

  it("is answered by touch with a choice of each kind", async () => {
    const server = await serve();
    const session = await server.session();
    await server.say(session.id, script(ask, { text: "The end." }));
    const page = await openAs(open(), server, "approver", session.id, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const shown = card(page, QUESTION);
    await shown.getByText("Red").tap();
    await shown.getByText("Apple").tap();
    await shown.getByRole("checkbox", { name: "Other" }).tap();
    await shown.getByLabel(/Other answer to: Which fruits/).fill("Fig");
    await ready(page, QUESTION);
    await shown.getByRole("button", { name: "Answer" }).tap();
    await over(server, page, session);
    expect(await log(server, session)).toContain("Apple, Fig");
  });

  it("is declined by Enter on Decline with a reason, after going back once", async () => {
    const { server, session, page } = await asked("approver", [ask]);
    const shown = card(page, QUESTION);
    await shown.getByLabel("Red").check();
    await shown.getByLabel("Apple").check();
    await ready(page, QUESTION);
    // The answer is complete, and Enter still presses the button that has the focus.
    await shown.getByRole("button", { name: "Decline…" }).focus();
    await page.keyboard.press("Enter");
    await shown.getByLabel("Why not").waitFor();
    expect(await buttonsOf(page, QUESTION)).toEqual(["Back", "Decline"]);
    await press(page, QUESTION, "Back");
    await press(page, QUESTION, "Decline…");
    await shown.getByLabel("Why not").fill("Ask me later.");
    await press(page, QUESTION, "Decline");
    await over(server, page, session);
    expect(await log(server, session)).toContain("Ask me later.");
  });

  it("is declined with the keyboard alone, and Escape closes only the field", async () => {
    const { server, session, page } = await asked("approver", [ask]);
    const shown = card(page, QUESTION);
    const field = shown.getByLabel("Why not");
    const decline = shown.getByRole("button", { name: "Decline…" });
    await ready(page, QUESTION);
    await decline.focus();
    await page.keyboard.press("Enter");
    await until("the field has the focus", () => field.evaluate((element) => element.matches(":focus")));
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await until("the card has the focus", () => shown.evaluate((element) => element.matches(":focus")));
    await ready(page, QUESTION);
    await decline.focus();
    await page.keyboard.press(" ");
    await until("the field has the focus", () => field.evaluate((element) => element.matches(":focus")));
    await page.keyboard.type("Not today.");
    await page.keyboard.press("Enter");
    await over(server, page, session);
    expect(await log(server, session)).toContain("Not today.");
  });

  it("keeps typed text over a reload and a switch of session", async () => {
    const server = await serve();
    const session = await server.session({ name: "Asks" });
    const other = await server.session({ name: "Another" });
    await server.say(session.id, script(ask, { text: "The end." }));
    const page = await open().visit(server, linkTo(server, session.id));
    const shown = card(page, QUESTION);
    await shown.getByLabel("Blue").check();
    await shown.getByRole("checkbox", { name: "Other" }).check();
    await shown.getByLabel(/Other answer/).fill("Half an ans");
    const kept = async () => {
      await shown.waitFor();
      expect(await shown.getByLabel("Blue").isChecked()).toBe(true);
      expect(await shown.getByLabel(/Other answer/).inputValue()).toBe("Half an ans");
    };
    await page.reload();
    await kept();
    const sessions = page.getByRole("navigation", { name: "Sessions" });
    await sessions.getByText("Another").click();
    await shown.waitFor({ state: "detached" });
    await sessions.getByText("Asks").click();
    await kept();
    await press(page, QUESTION, "Answer");
    await over(server, page, session);
    // The next question starts empty.
    await server.say(session.id, script(ask, { text: "The end." }));
    await shown.waitFor();
    expect(await shown.getByLabel("Blue").isChecked()).toBe(false);
    expect(other.id).not.toBe(session.id);
  });
});

describe("the card of an MCP server", () => {
  const FORM = "Request from an MCP server";
  const elicit = (more: Record<string, unknown>) => [
    { text: "Asked.", misbehave: { elicit: { mcp_server_name: "shop", message: "Your order", ...more } } },
  ];
  const form = elicit({
    mode: "form",
    requested_schema: {
      type: "object",
      required: ["name", "size"],
      properties: {
        name: { type: "string", title: "Your name", description: "As on the door", minLength: 2 },
        size: { type: "string", title: "Size", enum: ["s", "l"], enumNames: ["Small", "Large"] },
        count: { type: "integer", title: "Count", minimum: 1 },
        extras: { type: "array", title: "Extras", items: { enum: ["tea", "cake"] } },
        gift: { type: "boolean", title: "It is a gift" },
      },
    },
    property_order: ["name", "size", "count", "extras", "gift"],
  });
  // The name before the @ is not where the link leads.
  const link = elicit({ mode: "url", url: "https://bank.example@example.org/sign-in?next=\u202e" });
  const got = (page: Page, text: string | RegExp) => said(page, text).first().waitFor();

  it("shows a viewer the form, without buttons", async () => {
    const { page } = await asked("viewer", form);
    await card(page, FORM).getByText("Your order").waitFor();
    await card(page, FORM).getByText("View only").waitFor();
    expect(await card(page, FORM).getByLabel("Your name").isDisabled()).toBe(true);
    expect(await buttonsOf(page, FORM)).toEqual([]);
  });

  it("is filled in by an approver, and checked", async () => {
    const { page } = await asked("approver", form);
    const shown = card(page, FORM);
    await ready(page, FORM);
    expect(await buttonsOf(page, FORM)).toEqual(["Send", "Decline"]);
    expect(await violations(page)).toEqual([]);
    const send = shown.getByRole("button", { name: "Send" });
    await shown.getByLabel("Your name").fill("A");
    await shown.getByLabel("Your name").blur();
    await shown.getByLabel("Size").selectOption("Large");
    await shown.getByText("At least 2 characters.").waitFor();
    expect(await send.isDisabled()).toBe(true);
    await shown.getByLabel("Your name").fill("Ann");
    await shown.getByLabel("Count").fill("2");
    await shown.getByLabel("cake").check();
    await shown.getByLabel("It is a gift").check();
    await screenshot(page, "elicitation");
    // Typed text survives a reload.
    await page.reload();
    expect(await shown.getByLabel("Your name").inputValue()).toBe("Ann");
    await press(page, FORM, "Send");
    await got(page, /"name":"Ann"/);
    await got(page, /"count":2/);
    await got(page, /"extras":\["cake"\]/);
    await got(page, /"size":"l"/);
  });

  it("is filled in and sent with the keyboard alone", async () => {
    const { page } = await asked("driver", form);
    const shown = card(page, FORM);
    await ready(page, FORM);
    await page.keyboard.press("r");
    await until("the card has the focus", () => shown.evaluate((element) => element.matches(":focus")));
    await page.keyboard.press("Tab");
    await page.keyboard.type("Ann");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Sm");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2");
    // To the first of the extras, and past the second and the gift.
    await page.keyboard.press("Tab");
    await page.keyboard.press(" ");
    for (let count = 0; count < 3; count += 1) await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Send");
    await ready(page, FORM);
    await page.keyboard.press("Enter");
    await got(page, /"name":"Ann"/);
    await got(page, /"size":"s"/);
    await got(page, /"extras":\["tea"\]/);
  });

  it("is declined by an approver", async () => {
    const { page } = await asked("approver", form);
    await press(page, FORM, "Decline");
    await got(page, /"action":"decline"/);
  });

  it("shows where a link leads, and learns that it was visited", async () => {
    const { page } = await asked("approver", link);
    const shown = card(page, FORM);
    await ready(page, FORM);
    expect(await buttonsOf(page, FORM)).toEqual(["Done", "Decline"]);
    await shown.getByText("https://bank.example@example.org/sign-in?next=⟨U+202E⟩").waitFor();
    const open = shown.getByRole("link", { name: "Open example.org" });
    expect(await open.getAttribute("href")).toContain("example.org/sign-in");
    expect(await open.getAttribute("rel")).toContain("noopener");
    // It opens in another tab, and the card stays until the person says that it is done.
    await page.context().route(
      ({ hostname }) => hostname === "example.org",
      (route) => route.fulfill({ body: "Signed in." }),
    );
    const tab = page.waitForEvent("popup");
    await open.click();
    expect(new URL((await tab).url()).host).toBe("example.org");
    await press(page, FORM, "Done");
    await got(page, /"action":"accept"/);
  });

  it("declines a link, and does not link other schemes", async () => {
    const { page } = await asked("approver", elicit({ mode: "url", url: "javascript:alert(1)" }));
    await card(page, FORM).getByText("javascript:alert(1)").waitFor();
    expect(await card(page, FORM).getByRole("link").count()).toBe(0);
    await press(page, FORM, "Decline");
    await got(page, /"action":"decline"/);
  });

  it("can only be declined if the form has an unknown shape", async () => {
    const schema = { type: "object", properties: { deep: { type: "object", properties: {} } } };
    const { page } = await asked("approver", elicit({ mode: "form", requested_schema: schema }));
    await ready(page, FORM);
    expect(await buttonsOf(page, FORM)).toEqual(["Decline"]);
    await press(page, FORM, "Decline");
    await got(page, /"action":"decline"/);
  });
});

async function log(server: WeirServer, session: SessionInfo): Promise<string> {
  const response = await fetch(new URL(`v1/sessions/${session.id}/log`, server.url), {
    headers: { Authorization: `Bearer ${server.token}` },
  });
  return response.text();
}
