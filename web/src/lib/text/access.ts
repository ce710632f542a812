// Why the page cannot be used any more, for the one who reads it: most have no shell on the server.

export type Refusal = "link" | "typed" | "ended" | "share";

export const refusalWords: Record<Refusal, string> = {
  link: "This link is no longer valid. Ask for a new one, or paste a token.",
  typed: "That token is not valid. Check it, or ask for a new link.",
  ended: "Your access has ended: the token was revoked or has expired. Ask for a new link.",
  share: "This shared link has ended. Ask whoever shared it for a new one.",
};
