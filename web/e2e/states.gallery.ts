// Every state of the page at three widths, light and dark, as screenshots: `npm run gallery`.
//
// GALLERY_WIDTHS=390 and GALLERY_SCHEMES=dark take fewer; GALLERY_ONLY=plan takes the states whose name contains it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { it } from "vitest";
import type { Role } from "../src/lib/api/schema.ts";
import { card, composer, conversation, linkTo, ready, said, screenshot } from "./browser.ts";
import { script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const list = (name: string, all: string[]) => process.env[name]?.split(",") ?? all;
const widths = list("GALLERY_WIDTHS", ["1440", "1024", "390"]).map(Number);
const schemes = list("GALLERY_SCHEMES", ["light", "dark"]) as ("light" | "dark")[];
const only = process.env["GALLERY_ONLY"] ?? "";

const heights: Record<number, number> = { 1440: 900, 1024: 768, 390: 844 };
function screenOf(width: number, colorScheme: "light" | "dark"): BrowserContextOptions {
  const isPhone = width < 600;
  const viewport = { width, height: heights[width] ?? 900 };
  return { viewport, colorScheme, ...(isPhone ? { hasTouch: true, isMobile: true, deviceScaleFactor: 2 } : {}) };
}

const command = "git fetch origin && \\\n  git rebase origin/main &&\n  git push --force-with-lease origin feature";
const hiding = `ls ~/notes${"\n".repeat(31)}rm -rf \u202e~/stnemucod\u202c\u200b`;
const notes = Array.from({ length: 24 }, (_, at) => `- note ${at + 1}`).join("\n");
const questions = [
  {
    question: "Which database should the service use?",
    header: "Database",
    options: [
      { label: "SQLite", description: "One file, nothing to run. Enough for one machine." },
      { label: "PostgreSQL", description: "A server of its own, for several machines." },
    ],
    multiSelect: false,
  },
  {
    question: "Which checks should run before each commit?",
    header: "Checks",
    options: [{ label: "Formatting" }, { label: "Lints" }, { label: "Unit tests" }],
    multiSelect: true,
  },
];
const plan =
  "# Move the settings into one file\n\n1. Read both files and merge them.\n2. Write `settings.toml`.\n3. Remove the old files.\n\n> Nothing is removed before the new file was read back.";
const agent = (name: string, run: string, background = false) => ({
  tool: "Task",
  input: {
    description: name,
    subagent_type: "general-purpose",
    run_in_background: background,
    prompt: script({ tool: "Bash", input: { command: run, description: name } }, { text: "Done." }),
  },
});
const form = {
  mode: "form",
  mcp_server_name: "shop",
  message: "Where should the order go?",
  requested_schema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name" },
      mail: { type: "string", format: "email", title: "E-mail", description: "For the receipt" },
      size: { type: "string", title: "Size", enum: ["S", "M", "L"] },
      gift: { type: "boolean", title: "Wrap it as a gift" },
    },
    required: ["name", "size"],
  },
};
const careful = {
  default_to_no: true,
  classifier_approvable: false,
  decision_reason: "The command removes a folder recursively",
  decision_reason_type: "safetyCheck",
  matched_ask_rule: { source: "userSettings", tool_name: "Bash", rule_content: "rm:*" },
};
const bash = (run: string, description: string) => ({ tool: "Bash", input: { command: run, description } });
const answer =
  "The service reads two files and merges them by hand. I moved both into `settings.toml`:\n\n" +
  "| key | before | now |\n|---|---|--:|\n| `port` | server.ini | 8080 |\n| `workers` | pool.json | 4 |\n\n" +
  '```rust\nlet settings = Settings::read("settings.toml")?;\nassert_eq!(settings.port, 8080);\n```\n\n' +
  "- [x] Files merged\n- [ ] Old files removed\n\nShall I remove the old files?";
// The way of newer versions: one call for each item.
const todos = [
  { tool: "TaskCreate", input: { subject: "Read both files", description: "", activeForm: "Reading both files" } },
  { tool: "TaskCreate", input: { subject: "Merge them", description: "", activeForm: "Merging them" } },
  {
    tool: "TaskCreate",
    input: { subject: "Remove the old files", description: "", activeForm: "Removing the old files" },
  },
  { tool: "TaskUpdate", input: { taskId: "1", status: "completed" } },
  { tool: "TaskUpdate", input: { taskId: "2", status: "in_progress" } },
];
const long = "Reading the two files now, to see where they overlap. ".repeat(60);

interface State {
  name: string;
  steps?: Record<string, unknown>[];
  /** Options of the session. */
  session?: Record<string, unknown>;
  role?: Role;
  /** What to do on the page before the screenshot, and what to wait for. */
  on: (page: Page, server: WeirServer, id: string) => Promise<unknown>;
}

const waits = (label: string, press?: string) => async (page: Page) => {
  await ready(page, label);
  if (press !== undefined) {
    await card(page, label).getByRole("button", { name: press }).click();
    await ready(page, label);
  }
};
const ended = (text: string) => (page: Page) => said(page, text).first().waitFor();
async function details(page: Page, tab: string) {
  if ((await page.getByRole("tab").count()) === 0)
    await page.getByRole("button", { name: "Details", exact: true }).click();
  await page.getByRole("tab", { name: new RegExp(tab) }).click();
}
async function menu(page: Page, item?: string) {
  await page.getByRole("button", { name: "This session" }).click();
  if (item !== undefined) await page.getByRole("menuitem", { name: item }).click();
}
const work = [
  { thinking: "Two files hold settings. I should read both first.", tool: "Read", input: { file_path: "notes.md" } },
  bash("ls -1", "List files"),
  bash("wc -l notes.md", "Count lines"),
  bash("grep -n 'note 7' notes.md", "Look for a note"),
];
const allowed = { allowed_tools: ["Bash", "Read", "Write", "Edit", "TaskCreate", "TaskUpdate", "Task"] };

const STATES: State[] = [
  { name: "empty-session", on: (page) => composer(page).or(page.locator(".reader")).first().waitFor() },
  {
    name: "answer",
    session: allowed,
    steps: [
      ...work,
      {
        tool: "Edit",
        input: { file_path: "notes.md", old_string: "- note 7\n", new_string: "- note seven\n- and a half\n" },
      },
      { text: answer },
    ],
    on: ended("Shall I remove"),
  },
  {
    name: "working",
    session: allowed,
    steps: [...todos, ...work, { text: long, wdelay: 0.08 }],
    on: ended("Reading the two files"),
  },
  {
    name: "running-command",
    session: allowed,
    steps: [{ text: "I run the tests.", ...bash("sleep 300", "Run the tests") }],
    on: (page) => conversation(page).getByText("Running").waitFor(),
  },
  {
    name: "card-command",
    steps: [{ text: "I publish the branch.", ...bash(command, "Publish the branch") }],
    on: waits("Permission for Bash"),
  },
  {
    name: "card-always",
    steps: [bash("git push origin main", "Publish")],
    on: waits("Permission for Bash", "Always allow…"),
  },
  { name: "card-deny", steps: [bash("git push origin main", "Publish")], on: waits("Permission for Bash", "Deny…") },
  { name: "card-edit", steps: [bash(command, "Publish")], on: waits("Permission for Bash", "Edit…") },
  { name: "card-hiding", steps: [bash(hiding, "List notes")], on: waits("Permission for Bash") },
  {
    name: "card-careful",
    steps: [{ ...bash("rm -rf build", "Clean"), misbehave: { ask_with: careful } }],
    on: waits("Permission for Bash"),
  },
  {
    name: "card-overwrite",
    steps: [{ tool: "Write", input: { file_path: "notes.md", content: "# Notes\n" } }],
    on: waits("Permission for Write"),
  },
  {
    name: "card-approver",
    role: "approver",
    steps: [bash(command, "Publish the branch")],
    on: waits("Permission for Bash"),
  },
  {
    name: "card-viewer",
    role: "viewer",
    steps: [bash(command, "Publish the branch")],
    on: (page) => card(page, "Permission for Bash").waitFor(),
  },
  { name: "card-plan", steps: [{ tool: "ExitPlanMode", input: { plan } }], on: waits("Plan") },
  { name: "card-question", steps: [{ tool: "AskUserQuestion", input: { questions } }], on: waits("Question") },
  {
    name: "card-form",
    steps: [{ text: "Asked.", misbehave: { elicit: form } }],
    on: waits("Request from an MCP server"),
  },
  {
    name: "card-link",
    steps: [
      {
        text: "Asked.",
        misbehave: {
          elicit: {
            mcp_server_name: "shop",
            message: "Sign in first",
            mode: "url",
            url: "https://example.org/sign-in",
          },
        },
      },
    ],
    on: waits("Request from an MCP server"),
  },
  {
    name: "card-several",
    steps: [{ tools: [agent("Tidy up", "rm -rf build"), agent("Publish", command), agent("Look", "mkdir -p seen")] }],
    on: async (page, server, id) => {
      await until("all of them wait", async () => (await server.info(id)).waiting_for.permissions === 3);
      await ready(page, "Permission for Bash");
    },
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
      for (const name of ["Deny…", "Deny"]) {
        await ready(page, "Permission for Bash");
        await card(page, "Permission for Bash").getByRole("button", { name }).click();
      }
      await ready(page, "Permission for Bash");
      await card(page, "Permission for Bash").getByRole("button", { name: "Allow once" }).click();
      await said(page, "One was denied").waitFor();
    },
  },
  {
    name: "api-error-401",
    steps: [{ status: 401, etype: "authentication_error", msg: "invalid x-api-key" }],
    on: (page) =>
      conversation(page)
        .getByText(/log in|login/)
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
      await page.getByRole("list", { name: "Queued messages" }).waitFor();
      await composer(page).fill("Use TOML, not JSON");
    },
  },
  {
    name: "background",
    session: allowed,
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
  ...["Changes", "Todos", "Usage", "Raw"].map((tab) => ({
    name: `details-${tab.toLowerCase()}`,
    session: allowed,
    steps: [
      ...todos,
      ...work,
      { tool: "Edit", input: { file_path: "notes.md", old_string: "- note 3\n", new_string: "- note three\n" } },
      { text: answer },
    ],
    on: async (page: Page) => {
      await said(page, "Shall I remove").waitFor();
      await details(page, tab);
      await page.getByRole("tabpanel").waitFor();
      if (tab === "Changes") await page.getByRole("tabpanel").getByText("note three").waitFor();
    },
  })),
  {
    name: "menu",
    steps: [{ text: answer }],
    on: async (page) => {
      await ended("Shall I remove")(page);
      await menu(page);
    },
  },
  {
    name: "modes",
    steps: [{ text: answer }],
    on: async (page) => {
      await ended("Shall I remove")(page);
      await page.getByRole("button", { name: /^Permission mode/ }).click();
    },
  },
  ...["Rename", "Cost limit", "Share", "Delete"].map((item) => ({
    name: `dialog-${item.toLowerCase().replace(" ", "-")}`,
    steps: [{ text: answer }],
    on: async (page: Page) => {
      await ended("Shall I remove")(page);
      await menu(page, item);
      await page.getByRole("dialog").waitFor();
    },
  })),
  {
    name: "dialog-help",
    steps: [{ text: answer }],
    on: async (page) => {
      await ended("Shall I remove")(page);
      await page.keyboard.press("Escape");
      await page
        .locator("body")
        .click({ position: { x: 5, y: 300 } })
        .catch(() => undefined);
      await page.keyboard.press("?");
    },
  },
  {
    name: "dialog-new",
    steps: [{ text: answer }],
    on: async (page) => {
      await ended("Shall I remove")(page);
      await page.locator("h1").click();
      await page.keyboard.press("n");
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "find",
    steps: [{ text: answer }],
    on: async (page) => {
      await ended("Shall I remove")(page);
      await menu(page, "Find in this session");
      await page.getByRole("searchbox", { name: "Find in this session" }).fill("settings");
    },
  },
];

for (const width of widths)
  for (const scheme of schemes) {
    it(`${width} ${scheme}`, async () => {
      const options = screenOf(width, scheme);
      const server = await serve();
      writeFileSync(join(server.root, "notes.md"), `# Notes\n\n${notes}\n`);
      const shot = (page: Page, name: string) => screenshot(page, `${name}-${width}-${scheme}`);
      const wants = (name: string) => name.includes(only);
      if (wants("login")) {
        const page = await open().visit(server, server.url, options);
        await page.getByLabel("Token").waitFor();
        await shot(page, "login");
        await page.context().close();
      }
      if (wants("first-run")) {
        const page = await open().visit(server, server.link, options);
        await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
        await shot(page, "first-run");
        await page.context().close();
      }
      const ids: string[] = [];
      for (const state of STATES.filter(({ name }) => wants(name))) {
        const { id } = await server.session({ name: "Tidy the service", ...state.session });
        ids.push(id);
        if (state.steps)
          await server.say(id, script(...state.steps, ...(state.steps.at(-1)?.["text"] ? [] : [{ text: "The end." }])));
        let link = linkTo(server, id);
        if (state.role !== undefined) {
          const { token } = await server.api<{ token: string }>("POST", "v1/tokens", {
            name: `${state.role} ${id}`,
            role: state.role,
          });
          link = `${server.url}#token=${token}&session=${id}`;
        }
        const page = await open().visit(server, link, options);
        page.setDefaultTimeout(8000);
        await state
          .on(page, server, id)
          .catch((error: unknown) => console.log(`${state.name}: ${String(error).slice(0, 300)}`));
        // Whatever fades in is there.
        await page.evaluate(() =>
          Promise.allSettled(
            document
              .getAnimations()
              .filter((all) => all.effect?.getTiming().iterations !== Infinity)
              .map((all) => all.finished),
          ),
        );
        await shot(page, state.name);
        await page.context().close();
        await server.api("PATCH", `v1/sessions/${id}`, { name: state.name.replaceAll("-", " ") });
        if (!["answer", "card-plan", "working", "api-error-401", "background"].includes(state.name))
          await server.api("POST", `v1/sessions/${id}/stop`);
      }
      if (wants("list")) {
        const page = await open().visit(server, server.link, options);
        await page.getByText("Recent sessions").waitFor();
        await shot(page, "list");
        const search = page.getByRole("searchbox", { name: "Search sessions" });
        if (await search.isVisible()) {
          await search.fill("settings");
          await page
            .locator(".snippet")
            .first()
            .waitFor()
            .catch(() => undefined);
          await shot(page, "list-search");
        }
        await page.context().close();
      }
    });
  }
