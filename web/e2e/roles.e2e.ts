// What each role may decide, for each kind of card, with a pointer on a wide screen and by touch on a phone.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Role } from "../src/lib/api/schema.ts";
import { buttonsOf, card, DESKTOP, openAs, PHONE, ready, said, violations } from "./browser.ts";
import { script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const TOUCH = { viewport: PHONE, hasTouch: true, isMobile: true };
const SCREENS: [string, BrowserContextOptions][] = [
  ["wide screen", { viewport: DESKTOP }],
  ["phone", TOUCH],
];
const ROLES: Role[] = ["viewer", "approver", "driver", "admin"];

const FORM = "Request from an MCP server";
const elicit = (more: Record<string, unknown>) => ({
  text: "Asked.",
  misbehave: { elicit: { mcp_server_name: "shop", message: "Your order", ...more } },
});
const requested_schema = { type: "object", properties: { name: { type: "string", title: "Your name" } } };
const questions = [
  { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }], multiSelect: false },
];
const plan = { tool: "ExitPlanMode", input: { plan: "1. Do it." } };

interface Kind {
  label: string;
  step: Record<string, unknown>;
  approver: string[];
  /** Also those of an admin. */
  driver: string[];
}
const decide = (approver: string[], driver = approver) => ({ approver, driver });
const onPermission = decide(["Allow once", "Deny…"], ["Allow once", "Always allow…", "Edit…", "Deny…"]);
const KINDS: Record<string, Kind> = {
  command: { label: "Permission for Bash", step: { tool: "Bash", input: { command: "mkdir a" } }, ...onPermission },
  overwrite: {
    label: "Permission for Write",
    step: { tool: "Write", input: { file_path: "notes.md", content: "2" } },
    ...onPermission,
  },
  plan: {
    label: "Plan",
    step: plan,
    ...decide(
      ["Approve, ask before edits", "Keep planning…"],
      ["Approve, ask before edits", "Approve, accept edits", "Keep planning…"],
    ),
  },
  question: {
    label: "Question",
    step: { tool: "AskUserQuestion", input: { questions } },
    ...decide(["Answer", "Decline…"]),
  },
  form: { label: FORM, step: elicit({ mode: "form", requested_schema }), ...decide(["Send", "Decline"]) },
  link: { label: FORM, step: elicit({ mode: "url", url: "https://example.org/" }), ...decide(["Done", "Decline"]) },
};

async function asking(server: WeirServer, step: Record<string, unknown>, mode = "default"): Promise<string> {
  const { id } = await server.session({ permission_mode: mode });
  await server.say(id, script(step, { text: "The end." }));
  await until("it asks", async () => (await server.info(id)).status === "waiting");
  return id;
}

describe("a card offers each role exactly what it may decide", () => {
  for (const [screen, options] of SCREENS) {
    for (const [name, { label, step, ...of }] of Object.entries(KINDS)) {
      it(`${name}, on a ${screen}`, async () => {
        const server = await serve();
        writeFileSync(join(server.root, "notes.md"), "1\n");
        const id = await asking(server, step, name === "plan" ? "plan" : "default");
        for (const role of ROLES) {
          const page = await openAs(open(), server, role, id, options);
          await ready(page, label);
          const wanted = role === "viewer" ? [] : role === "approver" ? of.approver : of.driver;
          expect(await buttonsOf(page, label), role).toEqual(wanted);
          const decision = card(page, label).getByRole("group", { name: "Decision" });
          expect(await decision.getByText("View only").count(), role).toBe(role === "viewer" ? 1 : 0);
          // One primary action at most, and every button within reach of a thumb.
          expect(await decision.locator(".button.primary").count(), role).toBe(role === "viewer" ? 0 : 1);
          for (const button of await decision.getByRole("button").all()) {
            const box = (await button.boundingBox())!;
            const { width, height } = options.viewport!;
            expect(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height, role).toBe(true);
            if (options.hasTouch) expect(box.height, role).toBeGreaterThanOrEqual(40);
          }
          if (role === "driver") expect(await violations(page), role).toEqual([]);
          await page.context().close();
        }
      });
    }
  }
});

describe("by touch", () => {
  for (const [button, mode] of [
    ["Approve, ask before edits", "default"],
    ["Approve, accept edits", "acceptEdits"],
    ["Keep planning…", "plan"],
  ] as const) {
    it(`a plan gets "${button}"`, async () => {
      const server = await serve();
      const id = await asking(server, plan, "plan");
      const page = await openAs(open(), server, "driver", id, TOUCH);
      await ready(page, "Plan");
      await card(page, "Plan").getByRole("button", { name: button, exact: true }).tap();
      if (mode === "plan") {
        await ready(page, "Plan");
        await card(page, "Plan").getByRole("button", { name: "Back", exact: true }).tap();
        await ready(page, "Plan");
        await card(page, "Plan").getByRole("button", { name: button, exact: true }).tap();
        await ready(page, "Plan");
        await card(page, "Plan").getByRole("button", { name: "Keep planning", exact: true }).tap();
      }
      await said(page, "The end.").waitFor();
      expect((await server.settled(id)).permission_mode).toBe(mode);
    });
  }

  it("a form is filled in and sent, another one declined", async () => {
    const server = await serve();
    const form = KINDS["form"]!.step;
    const id = await asking(server, form);
    const page = await openAs(open(), server, "approver", id, TOUCH);
    await card(page, FORM).getByLabel("Your name").fill("Ann");
    await ready(page, FORM);
    await card(page, FORM).getByRole("button", { name: "Send" }).tap();
    await said(page, /"name":"Ann"/)
      .first()
      .waitFor();
    await server.settled(id);
    await server.say(id, script(form, { text: "The end." }));
    await ready(page, FORM);
    await card(page, FORM).getByRole("button", { name: "Decline" }).tap();
    await said(page, /"action":"decline"/)
      .first()
      .waitFor();
  });

  for (const [button, action] of [
    ["Done", "accept"],
    ["Decline", "decline"],
  ] as const) {
    it(`a link gets "${button}"`, async () => {
      const server = await serve();
      const id = await asking(server, KINDS["link"]!.step);
      const page = await openAs(open(), server, "approver", id, TOUCH);
      await ready(page, FORM);
      const link = (await card(page, FORM).getByRole("link", { name: "Open example.org" }).boundingBox())!;
      expect(link.height).toBeGreaterThanOrEqual(40);
      await card(page, FORM).getByRole("button", { name: button }).tap();
      await said(page, new RegExp(`"action":"${action}"`))
        .first()
        .waitFor();
    });
  }

  it("several requests are read and answered one by one", async () => {
    const server = await serve();
    const names = ["a", "b", "c"];
    const { id } = await server.session();
    const tools = names.map((name) => ({
      tool: "Task",
      input: {
        description: `Make ${name}`,
        subagent_type: "general-purpose",
        prompt: script({ tool: "Bash", input: { command: `mkdir ${name}` } }, { text: "Made." }),
      },
    }));
    await server.say(id, script({ tools }, { text: "The end." }));
    await until("all of them wait", async () => (await server.info(id)).waiting_for.permissions === 3);
    const page = await openAs(open(), server, "approver", id, TOUCH);
    const shown = card(page, "Permission for Bash");
    const command = () => shown.getByLabel("Command").innerText();
    await ready(page, "Permission for Bash");
    const first = await command();
    await shown.getByRole("button", { name: "Next request" }).tap();
    await shown.getByText("2 of 3").waitFor();
    const second = await command();
    expect(second).not.toBe(first);
    await shown.getByRole("button", { name: "Previous request" }).tap();
    await shown.getByText("1 of 3").waitFor();
    expect(await command()).toBe(first);
    // Only the one that is shown is denied.
    for (const name of ["Deny…", "Deny"]) {
      await ready(page, "Permission for Bash");
      await shown.getByRole("button", { name, exact: true }).tap();
    }
    for (const left of ["1 of 2", null]) {
      if (left !== null) await shown.getByText(left).waitFor();
      else await shown.getByText(/\d of \d/).waitFor({ state: "detached" });
      await ready(page, "Permission for Bash");
      await shown.getByRole("button", { name: "Allow once" }).tap();
    }
    await said(page, "The end.").waitFor();
    const denied = names.find((name) => first === `mkdir ${name}`);
    // The agents work in the background: the last command may still run.
    const made = () => names.filter((name) => existsSync(join(server.root, name)));
    await until("the allowed commands have run", () => made().length >= 2);
    expect(made()).toEqual(names.filter((name) => name !== denied));
  });

  it("a question is declined, after going back once", async () => {
    const server = await serve();
    const id = await asking(server, KINDS["question"]!.step);
    const page = await openAs(open(), server, "approver", id, TOUCH);
    for (const name of ["Decline…", "Back", "Decline…", "Decline"]) {
      await ready(page, "Question");
      await card(page, "Question").getByRole("button", { name, exact: true }).tap();
    }
    await said(page, "The end.").waitFor();
  });

  it("arguments are edited, and going back changes nothing", async () => {
    const server = await serve();
    const id = await asking(server, KINDS["command"]!.step);
    const page = await openAs(open(), server, "driver", id, TOUCH);
    const BASH = "Permission for Bash";
    for (const name of ["Edit…", "Back", "Always allow…", "Back", "Deny…", "Back", "Allow once"]) {
      await ready(page, BASH);
      await card(page, BASH).getByRole("button", { name, exact: true }).tap();
    }
    await said(page, "The end.").waitFor();
    expect(existsSync(join(server.root, "a"))).toBe(true);
  });
});

describe("an approver, who has no composer", () => {
  it("stops a turn and ends the process", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await openAs(open(), server, "approver", id);
    await server.say(id, script({ text: "on and on ".repeat(300), wdelay: 0.1 }));
    await said(page, "on and on").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("log").getByText("Interrupted", { exact: true }).waitFor();
    expect((await server.info(id)).has_process).toBe(true);
    await page.getByRole("button", { name: "This session" }).click();
    const items = await page.getByRole("menuitem").allInnerTexts();
    expect(items.some((item) => /Rename|Delete|Limits|Share/.test(item))).toBe(false);
    await page.getByRole("menuitem", { name: /^End the process/ }).click();
    await until("no process is left", async () => !(await server.info(id)).has_process);
  });

  it("who only views has neither", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await openAs(open(), server, "viewer", id);
    await server.say(id, script({ text: "on and on ".repeat(300), wdelay: 0.1 }));
    await said(page, "on and on").waitFor();
    expect(await page.getByRole("button", { name: "Stop", exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "This session" }).click();
    expect(await page.getByRole("menuitem", { name: /^End the process/ }).count()).toBe(0);
    await page.getByText("View only").first().waitFor();
  });
});
