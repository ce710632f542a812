// The CLI's permission modes, in words.

const NAMES: Record<string, string> = {
  default: "Ask for permission",
  acceptEdits: "Accept edits",
  plan: "Plan mode",
  bypassPermissions: "Allow everything",
  dontAsk: "Deny anything not pre-approved",
  auto: "Auto",
};

export function modeName(mode: string): string {
  return NAMES[mode] ?? mode;
}
