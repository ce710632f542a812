// Every state of the page, and the way to it: for the gallery, which takes pictures of them, and for the tests, which
// check each one.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import type { Role, SessionInfo } from "../src/lib/api/schema.ts";
import { card, composer, conversation, linkTo, PHONE, ready, said, type Visitors } from "./browser.ts";
import {
  agent,
  allowed,
  answer,
  bash,
  careful,
  command,
  edit,
  elicit,
  form,
  hiding,
  link,
  long,
  notes,
  plan,
  questions,
  reading,
  type Step,
  todos,
} from "./material.ts";
import { script, type ServerOptions, until, type WeirServer } from "./server.ts";

export interface State {
  name: string;
  /** What the agent does. Without it the session has no message. */
  steps?: Step[];
  /** The person's message. */
  says?: string;
  /** Options of the session. */
  session?: Record<string, unknown>;
  server?: ServerOptions;
  role?: Role;
  /** The address to open instead of the session's. */
  address?: (server: WeirServer, id: string) => Promise<string> | string;
  /** What to do before the page is opened. */
  before?: (server: WeirServer, id: string) => Promise<unknown>;
  /** What to do on the page, and what to wait for. */
  on: (page: Page, server: WeirServer, id: string) => Promise<unknown>;
}

/** Screens by name, such as `390-dark`. */
export function screenOf(width: number, colorScheme: "light" | "dark"): BrowserContextOptions {
  const heights: Record<number, number> = { 1440: 900, 1024: 768, 390: PHONE.height };
  const viewport = { width, height: heights[width] ?? 900 };
  const isPhone = width < 600;
  return { viewport, colorScheme, ...(isPhone ? { hasTouch: true, isMobile: true, deviceScaleFactor: 2 } : {}) };
}

export function nameOf({ viewport, colorScheme }: BrowserContextOptions): string {
  return `${viewport?.width}-${colorScheme}`;
}

/** Turns the screen of a page into another one of its kind: a phone stays a phone. */
export async function become(page: Page, { viewport, colorScheme }: BrowserContextOptions): Promise<void> {
  await page.emulateMedia({ colorScheme: colorScheme ?? null });
  const now = page.viewportSize();
  if (viewport && (viewport.width !== now?.width || viewport.height !== now.height))
    await page.setViewportSize(viewport);
  await settled(page);
}

/** Waits until the page has been drawn at its size, what fades in is there, and a card accepts answers. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    await drawn();
    await drawn();
    await Promise.allSettled(
      document
        .getAnimations()
        .filter((all) => all.effect?.getTiming().iterations !== Infinity)
        .map((all) => all.finished),
    );
  });
  await page.waitForFunction(() => document.querySelector("[aria-label=Decision][aria-disabled=true]") === null);
}

/** Brings a new server into the state, and shows it. */
export async function show(
  state: State,
  serve: (options?: ServerOptions) => Promise<WeirServer>,
  visitors: Visitors,
  options: BrowserContextOptions,
): Promise<Page> {
  // The script is not in the message, which is to look like one of a person.
  const ends = state.steps?.at(-1)?.["text"] !== undefined;
  const played = state.steps && [...state.steps, ...(ends ? [] : [{ text: "The end." }])];
  const server = await serve({ ...state.server, ...(played ? { script: played } : {}) });
  writeFileSync(join(server.root, "notes.md"), notes);
  let id = "";
  if (state.address === undefined || state.steps !== undefined) {
    id = (await server.session({ name: "Tidy the service", ...state.session })).id;
    if (played) await server.say(id, state.says ?? "Move the settings of the service into one file.");
  }
  await state.before?.(server, id);
  let address = linkTo(server, id);
  if (state.address !== undefined) address = await state.address(server, id);
  else if (state.role !== undefined) {
    const { role } = state;
    const { token } = await server.api<{ token: string }>("POST", "v1/tokens", { name: role, role });
    address = `${server.url}#token=${token}&session=${id}`;
  }
  const page = await visitors.visit(server, address, options);
  await state.on(page, server, id);
  await settled(page);
  return page;
}

const BASH = "Permission for Bash";
const MCP = "Request from an MCP server";

/** Waits for a card, and presses a button of it. */
const asks = (label: string, press?: string) => async (page: Page) => {
  await ready(page, label);
  if (press === undefined) return;
  await card(page, label).getByRole("button", { name: press }).click();
  await ready(page, label);
};
const says = (text: string) => (page: Page) => said(page, text).first().waitFor();
/** Opens a part of the page that may also open by itself, which a press would then close. */
async function opened(part: Locator, button: Locator): Promise<void> {
  await button.first().waitFor();
  await until("it is open", async () => {
    if (!(await part.isVisible()))
      await button
        .first()
        .click({ timeout: 1000 })
        .catch(() => undefined);
    return part.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
  });
}
async function details(page: Page, tab: string) {
  const wanted = page.getByRole("tab", { name: new RegExp(tab) });
  await opened(wanted, page.getByRole("button", { name: "Details", exact: true }));
  await wanted.click();
  await page.getByRole("tabpanel").waitFor();
}
async function menu(page: Page, item?: string) {
  await page.getByRole("button", { name: "This session" }).click();
  if (item !== undefined) await page.getByRole("menuitem", { name: item }).click();
}
/** Opens the list of sessions where it is not shown by itself. */
async function sessions(page: Page) {
  const list = page.getByRole("navigation", { name: "Sessions" });
  await opened(list, page.getByRole("button", { name: "Sessions" }));
  return list;
}

/** A card for one tool that asks. */
const tool = (name: string, input: Step, first: Step[] = []): State => ({
  name: `card-${name.toLowerCase().replaceAll("_", "-")}`,
  steps: [...first, { tool: name, input }],
  on: asks(`Permission for ${name}`),
});

const CARDS: State[] = [
  {
    name: "card-command",
    says: "Rebase the branch and publish it.",
    steps: [{ text: "I publish the branch.", ...bash(command, "Publish the branch") }],
    on: asks(BASH),
  },
  {
    name: "card-focused",
    steps: [bash("git push origin main", "Publish")],
    on: async (page) => {
      await ready(page, BASH);
      await page.keyboard.press("r");
    },
  },
  { name: "card-always", steps: [bash("git push origin main", "Publish")], on: asks(BASH, "Always allow…") },
  { name: "card-deny", steps: [bash("git push origin main", "Publish")], on: asks(BASH, "Deny…") },
  { name: "card-edit-command", steps: [bash(command, "Publish")], on: asks(BASH, "Edit…") },
  { name: "card-hiding", steps: [bash(hiding, "List notes")], on: asks(BASH) },
  {
    name: "card-careful",
    steps: [{ ...bash("rm -rf build", "Clean"), misbehave: { ask_with: careful } }],
    on: asks(BASH),
  },
  tool("Write", { file_path: "src/settings.rs", content: 'pub const FILE: &str = "settings.toml";\n' }),
  { ...tool("Write", { file_path: "notes.md", content: "# Notes\n" }), name: "card-overwrite" },
  tool("Edit", { file_path: "notes.md", old_string: "- note 7", new_string: "- note seven" }, [
    { tool: "Read", input: { file_path: "notes.md" } },
  ]),
  tool("WebFetch", { url: "https://example.org/handbook?page=2", prompt: "What does it say about settings?" }),
  tool("WebSearch", { query: "one settings file or two" }),
  {
    name: "card-approver",
    role: "approver",
    steps: [bash(command, "Publish the branch")],
    on: asks(BASH),
  },
  {
    name: "card-viewer",
    role: "viewer",
    steps: [bash(command, "Publish the branch")],
    on: (page) => card(page, BASH).waitFor(),
  },
  { name: "card-plan", steps: [{ tool: "ExitPlanMode", input: { plan } }], on: asks("Plan") },
  { name: "card-plan-reason", steps: [{ tool: "ExitPlanMode", input: { plan } }], on: asks("Plan", "Keep planning…") },
  { name: "card-question", steps: [{ tool: "AskUserQuestion", input: { questions } }], on: asks("Question") },
  {
    name: "card-question-decline",
    steps: [{ tool: "AskUserQuestion", input: { questions } }],
    on: asks("Question", "Decline…"),
  },
  { name: "card-form", steps: [form], on: asks(MCP) },
  { name: "card-link", steps: [link], on: asks(MCP) },
  {
    name: "card-unknown-form",
    steps: [
      elicit({
        mode: "form",
        message: "Describe the parcel",
        requested_schema: { type: "object", properties: { deep: { type: "object", properties: {} } } },
      }),
    ],
    on: asks(MCP),
  },
  {
    name: "card-several",
    says: "Tidy up, publish, and look around. Use three agents.",
    steps: [{ tools: [agent("Tidy up", "rm -rf build"), agent("Publish", command), agent("Look", "mkdir -p seen")] }],
    on: async (page, server, id) => {
      await until("all of them wait", async () => (await server.info(id)).waiting_for.permissions === 3);
      await ready(page, BASH);
      await card(page, BASH).getByText("1 of 3").waitFor();
    },
  },
];

const TURNS: State[] = [
  { name: "empty-session", on: (page) => page.getByText("No messages yet.").waitFor() },
  {
    name: "answer",
    session: allowed,
    steps: [...reading, edit("- note 7\n", "- note seven\n- and a half\n"), { text: answer }],
    on: says("Shall I remove"),
  },
  {
    name: "calls-open",
    session: allowed,
    steps: [...reading, edit("- note 7\n", "- note seven\n- and a half\n"), { text: "Renamed a note." }],
    on: async (page) => {
      await said(page, "Renamed a note.").waitFor();
      for (const name of [/^Read 1 file/, /^Ran ls -1/, /^Edited notes\.md/])
        await conversation(page).getByRole("button", { name }).click();
    },
  },
  {
    name: "working",
    session: allowed,
    steps: [...todos, ...reading, { text: long, wdelay: 0.08 }],
    on: says("Reading the two files"),
  },
  {
    name: "running-command",
    session: allowed,
    steps: [{ text: "I run the tests.", ...bash("sleep 300", "Run the tests") }],
    on: (page) => conversation(page).getByText("Running").waitFor(),
  },
  {
    name: "interrupted",
    steps: [{ text: long, wdelay: 0.08 }],
    on: async (page, server, id) => {
      await said(page, "Reading the two").waitFor();
      await server.api("POST", `v1/sessions/${id}/interrupt`);
      await conversation(page).getByText("Interrupted", { exact: true }).waitFor();
    },
  },
  {
    name: "denied-and-failed",
    steps: [bash("mkdir never", "Make"), bash("ls /nonexistent", "Look"), { text: "One was denied, one failed." }],
    on: async (page) => {
      for (const name of ["Deny…", "Deny", "Allow once"]) {
        await ready(page, BASH);
        await card(page, BASH).getByRole("button", { name, exact: true }).click();
      }
      await said(page, "One was denied").waitFor();
    },
  },
  {
    name: "sign-in-problem",
    server: { env: { CLAUDE_CODE_MAX_RETRIES: "1" } },
    steps: [{ status: 401, etype: "authentication_error", msg: "invalid x-api-key" }],
    on: (page) => conversation(page).getByRole("alert").getByText("The CLI could not log in.").waitFor(),
  },
  {
    name: "cli-crashed",
    steps: [{ text: "Half a reply, and then", misbehave: { crash: { at: "mid", exit: 3 } } }],
    on: (page) =>
      conversation(page)
        .getByText(/The CLI ended/)
        .first()
        .waitFor(),
  },
  {
    name: "rate-limit",
    steps: [{ text: "Slower now.", misbehave: { rate_limit: 3600 } }],
    on: (page) => page.getByRole("timer").waitFor(),
  },
  {
    name: "queued",
    steps: [{ text: long, wdelay: 0.08 }],
    on: async (page, server, id) => {
      await said(page, "Reading the two").waitFor();
      await server.say(id, "Then also update the README.");
      await server.say(id, "And run the tests once more.");
      await page.getByRole("list", { name: "Queued messages" }).getByText("And run the tests").waitFor();
      await composer(page).fill("Use TOML, not JSON");
    },
  },
  {
    name: "queued-edit",
    steps: [{ text: long, wdelay: 0.08 }],
    on: async (page, server, id) => {
      await said(page, "Reading the two").waitFor();
      await server.say(id, "Then also update the README.");
      await server.say(id, "And run the tests once more.");
      await page.getByRole("button", { name: /^Edit: And run/ }).click();
      await page.getByRole("textbox", { name: "Queued message" }).waitFor();
    },
  },
  {
    name: "commands",
    steps: [{ text: answer }],
    on: async (page) => {
      await said(page, "Shall I remove").waitFor();
      await composer(page).fill("/co");
      await page.getByRole("listbox", { name: "Slash commands" }).waitFor();
    },
  },
  {
    name: "refused",
    session: { max_cost_usd: 0.001 },
    steps: [{ text: "One." }],
    before: (server, id) => until("the limit is reached", async () => (await server.info(id)).status === "failed"),
    on: async (page) => {
      await composer(page).fill("Please continue with the second part of it");
      await composer(page).press("Control+Enter");
      await page.getByText(/^Not sent: /).waitFor();
    },
  },
  {
    name: "background",
    session: allowed,
    says: "Serve the site, and watch the build meanwhile.",
    steps: [
      agent("Watch the build", "sleep 300", true),
      { tool: "Bash", input: { command: "sleep 600", run_in_background: true, description: "Serve the site" } },
      { text: "Both run in the background." },
    ],
    on: async (page) => {
      await said(page, "Both run").waitFor();
      await details(page, "Agents");
      await page.getByRole("tabpanel").getByText("Serve the site").waitFor();
    },
  },
  {
    name: "offline",
    steps: [{ text: answer }],
    on: async (page) => {
      await said(page, "Shall I remove").waitFor();
      await page.context().setOffline(true);
      await page.getByText("You are offline.").waitFor();
    },
  },
  {
    name: "find",
    steps: [{ text: answer }],
    on: async (page) => {
      await said(page, "Shall I remove").waitFor();
      await menu(page, "Find in this session");
      await page.getByRole("searchbox", { name: "Find in this session" }).fill("settings");
      await page
        .getByRole("search")
        .getByText(/\d found/)
        .waitFor();
    },
  },
];

const DETAILS: State[] = ["Changes", "Todos", "Usage", "Raw"].map((tab) => ({
  name: `details-${tab.toLowerCase()}`,
  session: allowed,
  steps: [...todos, ...reading, edit("- note 3\n", "- note three\n"), { text: answer }],
  on: async (page: Page) => {
    await said(page, "Shall I remove").waitFor();
    await details(page, tab);
    if (tab === "Raw")
      await page
        .getByRole("tabpanel")
        .getByRole("button", { name: /result/ })
        .first()
        .waitFor();
    if (tab === "Changes") await page.getByRole("tabpanel").getByText("note three").waitFor();
  },
}));

const MENUS: State[] = [
  {
    name: "menu",
    steps: [{ text: answer }],
    on: async (page) => {
      await said(page, "Shall I remove").waitFor();
      await menu(page);
    },
  },
  ...["Permission mode", "Model", "Effort"].map((chip) => ({
    name: `menu-${chip.toLowerCase().replace(" ", "-")}`,
    steps: [{ text: answer }],
    on: async (page: Page) => {
      await said(page, "Shall I remove").waitFor();
      await page.getByRole("button", { name: new RegExp(`^${chip}`) }).click();
      await page.getByRole("menu", { name: chip }).waitFor();
    },
  })),
  ...["Rename", "Limits", "Share", "Delete"].map((item) => ({
    name: `dialog-${item.toLowerCase().replace(" ", "-")}`,
    steps: [{ text: answer }],
    on: async (page: Page) => {
      await said(page, "Shall I remove").waitFor();
      await menu(page, item);
      await page.getByRole("dialog").waitFor();
    },
  })),
  {
    name: "dialog-help",
    steps: [{ text: answer }],
    on: async (page) => {
      await said(page, "Shall I remove").waitFor();
      await sessions(page);
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("menuitem", { name: "Keys and help" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  ...["Tokens and links", "Audit log"].map((tab) => ({
    name: `dialog-access-${tab.split(" ")[0]?.toLowerCase()}`,
    steps: [{ text: answer }],
    before: async (server: WeirServer, id: string) => {
      await server.api("POST", "v1/tokens", { name: "bob", role: "approver", max_cost_usd: 5, expires_in_s: 90_000 });
      await server.api("POST", `v1/sessions/${id}/share`, { expires_in_s: 7200 });
    },
    on: async (page: Page) => {
      await said(page, "Shall I remove").waitFor();
      await sessions(page);
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("menuitem", { name: "Access and audit" }).click();
      const dialog = page.getByRole("dialog", { name: "Access" });
      await dialog.getByRole("tab", { name: tab }).click();
      if (tab === "Audit log") await dialog.getByText("created a token").first().waitFor();
      else await dialog.getByText("shared by anna").waitFor();
    },
  })),
  {
    name: "dialog-new",
    steps: [{ text: answer }],
    on: async (page) => {
      await (await sessions(page)).waitFor();
      await page.getByRole("button", { name: "New session" }).click();
      await page.getByRole("dialog").getByText("Advanced").click();
    },
  },
];

/** Sessions in all conditions. */
async function fill(server: WeirServer): Promise<void> {
  const done = async (info: SessionInfo) => server.settled(info.id);
  const talk = async (name: string, ...steps: Step[]) => {
    const info = await server.session({ name, ...allowed });
    await server.say(info.id, script(...steps));
    return info;
  };
  await done(await talk("Find out why the build is slow", { text: "The linker takes most of the time." }));
  const pinned = await talk("Release notes", { text: "Three settings moved into one file." });
  await done(pinned);
  await server.api("PATCH", `v1/sessions/${pinned.id}`, { pinned: true });
  const limited = await server.session({ name: "Translate the handbook into French", max_cost_usd: 0.001 });
  await server.say(limited.id, script({ text: "Un." }));
  await until("it is over its limit", async () => (await server.info(limited.id)).status === "failed");
  const wait = { command: "sleep 600", run_in_background: true, description: "Serve the site" };
  const behind = await talk("Serve the site", { tool: "Bash", input: wait }, { text: "It runs." });
  await until("only background work is left", async () => (await server.info(behind.id)).background === true);
  const busy = await talk("Rename the settings everywhere in the repository", bash("sleep 300", "Run the tests"));
  await until("it works", async () => (await server.info(busy.id)).status === "running");
  const asking = await server.session({ name: "Publish the branch" });
  await server.say(asking.id, script(bash("git push", "Publish"), { text: "The end." }));
  await until("it asks", async () => (await server.info(asking.id)).status === "waiting");
}

const AROUND: State[] = [
  { name: "login", address: (server) => server.url, on: (page) => page.getByLabel("Token").waitFor() },
  {
    name: "login-refused",
    address: (server) => server.url,
    on: async (page) => {
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "first-run",
    address: (server) => server.link,
    on: (page) => page.getByRole("heading", { name: "Welcome to Weir" }).waitFor(),
  },
  {
    name: "first-run-no-login",
    server: { hasKey: false },
    address: (server) => server.link,
    on: (page) => page.getByText("The claude CLI is not logged in").waitFor(),
  },
  {
    name: "list",
    address: async (server) => {
      await fill(server);
      return server.link;
    },
    on: async (page) => (await sessions(page)).getByText("Publish the branch").waitFor(),
  },
  {
    name: "list-search",
    address: async (server) => {
      await fill(server);
      return server.link;
    },
    on: async (page) => {
      await (await sessions(page)).waitFor();
      await page.getByRole("searchbox", { name: "Search sessions" }).fill("settings");
      await page.locator(".snippet").first().waitFor();
    },
  },
  {
    name: "list-no-matches",
    address: async (server) => {
      await fill(server);
      return server.link;
    },
    on: async (page) => {
      await (await sessions(page)).waitFor();
      await page.getByRole("searchbox", { name: "Search sessions" }).fill("nothing like it");
      await page.getByText("No matches").waitFor();
    },
  },
  {
    name: "list-filter",
    address: async (server) => {
      await fill(server);
      return server.link;
    },
    on: async (page) => {
      const list = await sessions(page);
      await list.getByRole("button", { name: "Filter and group" }).click();
      await list.getByRole("menuitemradio", { name: "Failed or interrupted" }).click();
      await list.getByText("Translate the handbook").waitFor();
      await list.getByRole("button", { name: "Filter and group" }).click();
    },
  },
  {
    name: "welcome-back",
    address: async (server) => {
      await fill(server);
      return server.link;
    },
    on: async (page) => {
      const close = page.getByRole("button", { name: "Close", exact: true });
      await page.getByText("Recent sessions").waitFor({ state: "attached" });
      if (await close.isVisible()) await close.click({ position: { x: 380, y: 400 } });
      await page.getByText("Recent sessions").waitFor();
    },
  },
  {
    name: "shared-link",
    session: allowed,
    steps: [...reading, { text: answer }],
    address: async (server, id) => {
      const { path } = await server.api<{ path: string }>("POST", `v1/sessions/${id}/share`, {});
      return new URL(path.replace(/^\//, ""), server.url).href;
    },
    on: says("Shall I remove"),
  },
  {
    name: "no-such-session",
    address: (server) => linkTo(server, crypto.randomUUID()),
    on: (page) => page.getByText("No such session").waitFor(),
  },
  {
    name: "trust",
    before: async (server) => {
      writeFileSync(
        join(server.root, ".mcp.json"),
        JSON.stringify({ mcpServers: { shop: { command: "shop", args: ["--port", "1"] } } }),
      );
    },
    on: async (page) => {
      await page.getByRole("button", { name: "Review" }).click();
      await page.getByRole("dialog", { name: "Trust this folder?" }).waitFor();
    },
  },
];

/** The agent at work: turns and cards. */
export const AT_WORK: readonly State[] = [...TURNS, ...CARDS];
/** What is around it: the list, the details, menus and dialogs. */
export const AROUND_IT: readonly State[] = [...AROUND, ...DETAILS, ...MENUS];
export const STATES: readonly State[] = [...AROUND_IT, ...AT_WORK];
