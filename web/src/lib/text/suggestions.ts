// Rules that the CLI suggests with a permission request: what each one allows, and where it can be stored.

import type { Remember, Role, RuleDestination } from "../api/schema.ts";

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

interface Suggested {
  type?: string;
  behavior?: string;
  mode?: string;
  directories?: unknown[];
  destination?: string;
  rules?: { toolName?: unknown; ruleContent?: unknown }[];
}

/** What a suggestion would allow; null if it cannot be accepted. */
export function ruleOf(suggestion: unknown): string | null {
  if (typeof suggestion !== "object" || suggestion === null) return null;
  const { type, behavior, mode, directories, rules } = suggestion as Suggested;
  if (type === "setMode" && mode) return mode === "acceptEdits" ? "Accept all edits" : `Permission mode ${mode}`;
  if (type === "addDirectories" && directories?.length)
    return `Allow access to folder ${directories.map(String).join(", ")}`;
  if (type === "addRules" && behavior === "allow" && rules?.length) {
    return rules
      .map(({ toolName, ruleContent }) =>
        // A rule is shown on one line; a line break in it is part of the rule.
        typeof ruleContent === "string"
          ? `${String(toolName)}(${ruleContent.replaceAll("\n", "␊")})`
          : `${String(toolName)} (every call)`,
      )
      .join(", ");
  }
  return null;
}

/** What a role can choose: a driver for the session, an admin also where the CLI suggests storing it. */
export function ruleChoices(suggestions: unknown[], role: Role | undefined): RuleChoice[] {
  if (role !== "driver" && role !== "admin") return [];
  return suggestions.flatMap((suggestion, at) => {
    const rule = ruleOf(suggestion);
    if (rule === null) return [];
    const { type, destination } = suggestion as Suggested;
    const places: RuleDestination[] = ["session"];
    if (role === "admin" && type !== "setMode" && destination !== undefined && destination !== "session") {
      if (destination in PLACES) places.push(destination as RuleDestination);
    }
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
  policySettings: "the organization's settings",
  cliArg: "the command line",
  session: "this session",
};

export function sourceOf(source: string | null | undefined): string {
  return (source && SOURCES[source]) || source || "the settings";
}
