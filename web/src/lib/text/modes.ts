// The CLI's permission modes, in words.

const NAMES: Record<string, { name: string; short: string; about: string }> = {
  default: { name: "Ask for permission", short: "Ask first", about: "Asks before edits and commands" },
  acceptEdits: {
    name: "Accept edits",
    short: "Accept edits",
    about: "Edits files without asking, asks before commands",
  },
  plan: { name: "Plan mode", short: "Plan", about: "Reads and plans, changes nothing" },
  bypassPermissions: { name: "Allow everything", short: "Allow all", about: "Asks for nothing" },
  dontAsk: { name: "Deny anything not pre-approved", short: "Deny the rest", about: "Never asks" },
  auto: { name: "Auto", short: "Auto", about: "A classifier decides what to ask" },
};

export function modeName(mode: string): string {
  return NAMES[mode]?.name ?? mode;
}

/** For a chip. */
export function modeShort(mode: string): string {
  return NAMES[mode]?.short ?? mode;
}

export function modeAbout(mode: string): string {
  return NAMES[mode]?.about ?? "";
}
