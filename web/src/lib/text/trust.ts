// What the settings of a folder do, in words, and which of it a person should read first.

import type { Folder } from "../api/types.ts";

export type Finding = Folder["findings"]["items"][number];

/** In the order in which they are shown: what runs or allows something by itself, then what is used, then what is read. */
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

/** Kinds that this page does not know come first. */
export function byDanger(items: Finding[]): Finding[] {
  return items.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}
