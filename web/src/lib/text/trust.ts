// What the settings of a folder do, in words, and what a person should read first.

import type { Folder } from "../api/schema.ts";

export type Finding = Folder["findings"]["items"][number];

/** In display order: what runs or allows something automatically, then what is used, then what is read. */
export const findingWords: Record<string, string> = {
  hook: "Hook",
  permission: "Permission rule",
  git_hook: "Git hook",
  credential: "Credential helper",
  unreadable: "Cannot be read",
  mcp_server: "MCP server",
  git: "Git configuration",
  environment: "Environment",
  plugin: "Plugin",
  setting: "Setting",
  command: "Command, agent or skill",
  instructions: "Instructions",
};

const ORDER = Object.keys(findingWords);

/** Unknown kinds come first. */
export function byDanger(items: Finding[]): Finding[] {
  return items.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}
