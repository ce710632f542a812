// Errors, and what to do about them.

import type { Turn } from "../api/schema.ts";

export function adviceFor(status: number | null, error: string): string | null {
  if (status === 401 || status === 403 || /authentication|login|api key/i.test(error)) {
    return "The CLI could not log in. Run `claude` in a terminal on the server and log in, or give the server a valid key, then send the message again.";
  }
  if (status === 429 || /rate.?limit/i.test(error)) {
    return "The account's rate limit is reached. Wait until it resets, then send the message again.";
  }
  if (status === 529 || status === 503 || /overloaded/i.test(error))
    return "The API is overloaded. Try again in a moment.";
  if (status !== null && status >= 500) return "The API failed. Try again in a moment.";
  if (status === 400)
    return "The API refused the request. If it happens again, start a new session or compact this one with /compact.";
  return null;
}

/** What kind of problem an error is, in words; null if it has no name. */
export function problemOf(status: number | null, error: string): string | null {
  if (status === 401 || status === 403 || /authentication|login|api key/i.test(error)) return "Sign-in problem";
  if (status === 429 || /rate.?limit/i.test(error)) return "Rate limit reached";
  if (status === 529 || /overloaded/i.test(error)) return "The API is overloaded";
  if (/maximum budget/i.test(error)) return "Cost limit reached";
  return null;
}

/** Why a turn failed, and what helps. Null if it succeeded. */
export function turnFailure(turn: Turn): { title: string; advice: string | null } | null {
  const result = turn.result ?? null;
  switch (turn.state) {
    case "interrupted":
      return { title: "Interrupted", advice: null };
    case "degraded":
      return {
        title: "The reply was cut off",
        advice: "The CLI gave no result. What it did is above; ask it to continue.",
      };
    case "lost":
      return {
        title: "The CLI exited before answering",
        advice: "Send the message again. The raw view shows its last lines.",
      };
    case "failed": {
      const title = result?.errors?.[0] ?? result?.text ?? result?.subtype ?? "The turn failed";
      switch (result?.subtype) {
        case "error_max_turns":
          return {
            title: "Turn limit reached",
            advice: "Ask it to continue; each message has its own limit.",
          };
        case "error_max_budget_usd":
          return {
            title: "Cost limit reached",
            advice: "Raise the limit in the session's menu, then send the message again.",
          };
      }
      return { title, advice: adviceFor(result?.api_error_status ?? null, title) };
    }
    default:
      return null;
  }
}
