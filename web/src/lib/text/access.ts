// Why the page can no longer be used, for readers who mostly have no shell on the server.

export type Refusal = "link" | "typed" | "ended" | "share";

export const refusalWords: Record<Refusal, string> = {
  link: "This link is no longer valid. Ask for a new one, or paste a token.",
  typed: "That token is not valid. Check it, or ask for a new link.",
  ended: "Your access has ended: the token was revoked or has expired. Ask for a new link.",
  share: "This shared link is no longer valid. Ask the person who shared it for a new one.",
};
