// Rules that the CLI suggests with a permission request: what each one allows, and where it can be stored.

import type { PermissionUpdate, Remember, Role, RuleDestination } from "../api/schema.ts";

export interface RuleChoice {
  remember: Remember;
  /** The exact rule. */
  rule: string;
  /** Where it is stored, in words. */
  where: string;
  /** The file, for rules stored in one. */
  file: string | null;
}

const PLACES: Record<RuleDestination, { where: string; file: string | null }> = {
  session: { where: "For this session", file: null },
  localSettings: { where: "In this project, for you", file: ".claude/settings.local.json" },
  projectSettings: { where: "In this project, for everyone", file: ".claude/settings.json" },
  userSettings: { where: "In all your projects", file: "~/.claude/settings.json" },
};

/** The kinds of updates that allow calls. The CLI may suggest others, which are not offered. */
const OFFERED = ["addRules", "setMode", "addDirectories"] as const;
type Offered = Extract<PermissionUpdate, { type: (typeof OFFERED)[number] }>;

const isOffered = (update: PermissionUpdate | null): update is Offered =>
  (OFFERED as readonly unknown[]).includes(update?.type);

/** A rule as people write it in settings. It is shown on one line; a line break in it is part of the rule. */
export const ruleText = (tool: string, content: string | null | undefined): string =>
  typeof content === "string" ? `${tool}(${content.replaceAll("\n", "␊")})` : `${tool} (every call)`;

/** What a suggestion would allow; null if it cannot be accepted. */
export function describeUpdate(update: PermissionUpdate | null): string | null {
  if (!isOffered(update)) return null;
  switch (update.type) {
    case "setMode":
      if (!update.mode) return null;
      return update.mode === "acceptEdits" ? "Accept all edits" : `Permission mode ${update.mode}`;
    case "addDirectories":
      return update.directories?.length ? `Allow access to folder ${update.directories.join(", ")}` : null;
    case "addRules":
      if (update.behavior !== "allow" || !update.rules?.length) return null;
      return update.rules.map(({ toolName, ruleContent }) => ruleText(toolName, ruleContent)).join(", ");
  }
}

/** What a role can choose: a driver for the session, an admin also where the CLI suggests storing it. */
export function ruleChoices(suggestions: (PermissionUpdate | null)[], role: Role | undefined): RuleChoice[] {
  if (role !== "driver" && role !== "admin") return [];
  return suggestions.flatMap((update, at) => {
    const rule = describeUpdate(update);
    if (rule === null || !isOffered(update)) return [];
    const places: RuleDestination[] = ["session"];
    const { type, destination } = update;
    if (role === "admin" && type !== "setMode" && destination && destination !== "session") places.push(destination);
    return places.map((place) => ({ remember: { suggestion: at, destination: place }, rule, ...PLACES[place] }));
  });
}

const REASONS: Record<string, string> = {
  rule: "A rule in the settings asks for it.",
  mode: "The permission mode asks for it.",
  subcommandResults: "A part of the command needs permission.",
  hook: "A hook asks for it.",
  asyncAgent: "A background agent asks for it.",
  sandboxOverride: "It would run outside the sandbox.",
  workingDir: "It reaches outside the working folder.",
  safetyCheck: "A safety check asks for it.",
  classifier: "The automatic review could not approve it.",
};

/** Why the CLI asks, in words, if it does not say so itself. */
export function reasonOf(type: string | null | undefined): string {
  return (type && REASONS[type]) || "No permission rule covers this.";
}

const SOURCES: Record<string, string> = {
  userSettings: "your settings",
  projectSettings: "the project's settings",
  localSettings: "your settings for this project",
  policySettings: "the organisation's settings",
  cliArg: "the command line",
  session: "this session",
};

export function sourceOf(source: string | null | undefined): string {
  return (source && SOURCES[source]) || source || "the settings";
}
