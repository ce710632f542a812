// What agents say, ask and do in the states of the page that are looked at.

import { script } from "./server.ts";

export type Step = Record<string, unknown>;

export const bash = (run: string, description: string): Step => ({
  tool: "Bash",
  input: { command: run, description },
});

/** A sub-agent that runs one command. */
export const agent = (name: string, run: string, background = false): Step => ({
  tool: "Task",
  input: {
    description: name,
    subagent_type: "general-purpose",
    run_in_background: background,
    prompt: script(bash(run, name), { text: "Done." }),
  },
});

export const command =
  "git fetch origin && \\\n  git rebase origin/main &&\n  git push --force-with-lease origin feature";
/** A command that would hide its second half in an ordinary text field. */
export const hiding = `ls ~/notes${"\n".repeat(31)}rm -rf \u202e~/stnemucod\u202c\u200b`;
export const notes = `# Notes\n\n${Array.from({ length: 24 }, (_, at) => `- note ${at + 1}`).join("\n")}\n`;
export const plan =
  "# Move the settings into one file\n\n1. Read both files and merge them.\n2. Write `settings.toml`.\n3. Remove the old files.\n\n> Nothing is removed before the new file was read back.";
export const long = "Reading the two files now, to see where they overlap. ".repeat(60);
export const answer =
  "The service reads two files and merges them by hand. I moved both into `settings.toml`:\n\n" +
  "| key | before | now |\n|---|---|--:|\n| `port` | server.ini | 8080 |\n| `workers` | pool.json | 4 |\n\n" +
  '```rust\nlet settings = Settings::read("settings.toml")?;\nassert_eq!(settings.port, 8080);\n```\n\n' +
  "- [x] Files merged\n- [ ] Old files removed\n\nShall I remove the old files?";

export const questions = [
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

/** A request of an MCP server. */
export const elicit = (more: Step): Step => ({
  text: "Asked.",
  misbehave: { elicit: { mcp_server_name: "shop", ...more } },
});
export const form = elicit({
  mode: "form",
  message: "Where should the order go?",
  requested_schema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name" },
      mail: { type: "string", format: "email", title: "E-mail", description: "For the receipt" },
      size: { type: "string", title: "Size", enum: ["S", "M", "L"] },
      extras: { type: "array", title: "Extras", items: { enum: ["tea", "cake"] } },
      gift: { type: "boolean", title: "Wrap it as a gift" },
    },
    required: ["name", "size"],
  },
});
export const link = elicit({ mode: "url", message: "Sign in first", url: "https://example.org/sign-in" });

/** What a CLI may say about a request that wants a careful look. */
export const careful = {
  default_to_no: true,
  classifier_approvable: false,
  decision_reason: "The command removes a folder recursively",
  decision_reason_type: "safetyCheck",
  matched_ask_rule: { source: "userSettings", tool_name: "Bash", rule_content: "rm:*" },
};

// The way of newer versions: one call for each item.
const create = (subject: string, activeForm: string): Step => ({
  tool: "TaskCreate",
  input: { subject, description: "", activeForm },
});
export const todos: Step[] = [
  create("Read both files", "Reading both files"),
  create("Merge them", "Merging them"),
  create("Remove the old files", "Removing the old files"),
  { tool: "TaskUpdate", input: { taskId: "1", status: "completed" } },
  { tool: "TaskUpdate", input: { taskId: "2", status: "in_progress" } },
];

export const reading: Step[] = [
  { thinking: "Two files hold settings. I should read both first.", tool: "Read", input: { file_path: "notes.md" } },
  bash("ls -1", "List files"),
  bash("wc -l notes.md", "Count lines"),
  bash("grep -n 'note 7' notes.md", "Look for a note"),
];
export const edit = (old_string: string, new_string: string): Step => ({
  tool: "Edit",
  input: { file_path: "notes.md", old_string, new_string },
});
/** Options of a session that asks for none of these. */
export const allowed = { allowed_tools: ["Bash", "Read", "Write", "Edit", "TaskCreate", "TaskUpdate", "Task"] };
