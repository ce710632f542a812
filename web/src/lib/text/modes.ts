// The CLI's permission modes, in words.

const NAMES: Record<string, string> = {
  default: "Ask for permission",
  acceptEdits: "Accept edits",
  plan: "Plan only",
  bypassPermissions: "Allow everything",
  dontAsk: "Deny what is not allowed",
  auto: "Decide by itself",
};

export function modeName(mode: string): string {
  return NAMES[mode] ?? mode;
}
