// What was typed into a card and not sent yet, by request: it survives a reload and a switch of session.

import { recall, remember } from "./keep.ts";

/** Requests that are over are forgotten as newer ones come. */
const MAX_DRAFTS = 40;

type Drafts = [id: string, draft: unknown][];

export function recallDraft<T>(id: string): T | null {
  const found = recall<Drafts>("cards", []).find(([other]) => other === id);
  return (found?.[1] as T | undefined) ?? null;
}

export function keepDraft(id: string, draft: unknown): void {
  const others = recall<Drafts>("cards", []).filter(([other]) => other !== id);
  const all: Drafts = draft === null ? others : [...others, [id, draft]];
  remember("cards", all.length === 0 ? null : all.slice(-MAX_DRAFTS));
}
