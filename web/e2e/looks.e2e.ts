// Each kind of card on a wide screen and on a phone, light and dark: accessible, and saved as a screenshot.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { describe, expect, it } from "vitest";
import { card, linkTo, PHONE, ready, screenshot, violations } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const WIDE = { width: 1440, height: 900 };
const ALL_SCREENS: [string, BrowserContextOptions][] = (["light", "dark"] as const).flatMap((colorScheme) => [
  [`wide-${colorScheme}`, { viewport: WIDE, colorScheme }],
  [`phone-${colorScheme}`, { viewport: PHONE, colorScheme, hasTouch: true, isMobile: true }],
]);
// A short run tries each size and each scheme once.
const isLong = process.env["WEIR_LONG_TESTS"] === "1";
const SCREENS = ALL_SCREENS.filter(([name]) => isLong || name === "wide-light" || name === "phone-dark");

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
const agent = (name: string, run: string) => ({
  tool: "Task",
  input: {
    description: name,
    subagent_type: "general-purpose",
    prompt: script({ tool: "Bash", input: { command: run } }, { text: "Done." }),
  },
});
const ask_with = {
  default_to_no: true,
  classifier_approvable: false,
  decision_reason: "The command removes a folder recursively",
  decision_reason_type: "safetyCheck",
  matched_ask_rule: { source: "userSettings", tool_name: "Bash", rule_content: "rm:*" },
};

const CARDS: [name: string, label: string, steps: Record<string, unknown>[], opens?: string][] = [
  ["command", "Permission for Bash", [{ tool: "Bash", input: { command, description: "Publish the branch" } }]],
  ["always", "Permission for Bash", [{ tool: "Bash", input: { command: "git push origin main" } }], "Always allow…"],
  ["deny", "Permission for Bash", [{ tool: "Bash", input: { command: "git push origin main" } }], "Deny…"],
  ["edit", "Permission for Bash", [{ tool: "Bash", input: { command } }], "Edit…"],
  ["hiding", "Permission for Bash", [{ tool: "Bash", input: { command: hiding } }]],
  ["careful", "Permission for Bash", [{ tool: "Bash", input: { command: "rm -rf build" }, misbehave: { ask_with } }]],
  ["overwrite", "Permission for Write", [{ tool: "Write", input: { file_path: "notes.md", content: "# Notes\n" } }]],
  [
    "edit-file",
    "Permission for Edit",
    [
      { tool: "Read", input: { file_path: "notes.md" } },
      { tool: "Edit", input: { file_path: "notes.md", old_string: "- note 7", new_string: "- note seven" } },
    ],
  ],
  ["plan", "Plan", [{ tool: "ExitPlanMode", input: { plan } }]],
  ["question", "Question", [{ tool: "AskUserQuestion", input: { questions } }]],
  [
    "several",
    "Permission for Bash",
    [{ tools: [agent("Tidy up", "rm -rf build"), agent("Publish", command), agent("Look", "mkdir -p seen")] }],
  ],
];

describe("a card", () => {
  for (const [screen, options] of SCREENS) {
    it(`looks right: ${screen}`, async () => {
      const server = await serve();
      writeFileSync(join(server.root, "notes.md"), `# Notes\n\n${notes}\n`);
      for (const [name, label, steps, opens] of CARDS) {
        const { id } = await server.session({ name: "Tidy the service" });
        await server.say(id, script(...steps, { text: "The end." }));
        if (name === "several")
          await until("all of them wait", async () => (await server.info(id)).waiting_for.permissions === 3);
        const page = await open().visit(server, linkTo(server, id), options);
        await ready(page, label);
        if (opens !== undefined) {
          await card(page, label).getByRole("button", { name: opens }).click();
          await ready(page, label);
        }
        if (!options.isMobile) await page.keyboard.press("r");
        await screenshot(page, `card-${name}-${screen}`);
        expect(await violations(page), name).toEqual([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        expect(wide, `${name} is wider than the screen`).toBe(false);
        // The whole card, including its buttons, is on the screen.
        const box = (await card(page, label).boundingBox())!;
        const { height } = options.viewport!;
        expect(box.y >= 0 && box.y + box.height <= height, `${name} is on the screen`).toBe(true);
        await page.context().close();
        // Only the session of the next card waits for input.
        await server.api("DELETE", `v1/sessions/${id}`);
      }
    });
  }
});
