// Unsent text, which survives a reload and switching sessions.

import type { Image } from "../api/schema.ts";
import { inTab, keepInTab, openShelf, recall, remember, type Shelf } from "./keep.ts";

/** The oldest drafts are dropped as newer ones are added. */
const MAX_DRAFTS = 40;

type Drafts = [id: string, draft: unknown][];

/** Text typed into a card, by request. */
export function recallDraft<T>(id: string): T | null {
  const found = recall<Drafts>("cards", []).find(([other]) => other === id);
  return (found?.[1] as T | undefined) ?? null;
}

export function keepDraft(id: string, draft: unknown): void {
  const others = recall<Drafts>("cards", []).filter(([other]) => other !== id);
  const all: Drafts = draft === null ? others : [...others, [id, draft]];
  remember("cards", all.length === 0 ? null : all.slice(-MAX_DRAFTS));
}

interface Text {
  tab: string;
  text: string;
  files: string[];
}
interface Pictures {
  id: string;
  tab: string;
  images: Image[];
}

/** Maximum number of tabs that keep a draft of one session. */
const MAX_TABS = 8;

/**
 * The unsent message to a session, by tab: a tab that sends or clears its message does not affect those of other tabs.
 * A tab without a draft takes over one that another tab left behind, for instance by being closed.
 */
export class MessageDraft {
  readonly text: string;
  readonly files: string[];
  readonly #session: string;
  readonly #tab: string;
  /** A draft taken over from another tab; it belongs to this one from now on. */
  #adopted: Text | null = null;
  #shelf: Promise<Shelf<Pictures>> | null = null;
  #adoptedPictures: string | null = null;

  constructor(session: string, tab = tabId()) {
    this.#session = session;
    this.#tab = tab;
    const own = inTab<Text>(this.#key) ?? this.#all().find((draft) => draft.tab === tab);
    if (own === undefined) this.#adopted = this.#all().at(-1) ?? null;
    const found = own ?? this.#adopted;
    this.text = found?.text ?? "";
    this.files = found?.files ?? [];
  }

  keep(text: string, files: string[]): void {
    const mine = text === "" ? null : { tab: this.#tab, text, files };
    keepInTab(this.#key, mine);
    const adopted = this.#adopted;
    const others = this.#all().filter(
      (draft) => draft.tab !== this.#tab && !(draft.tab === adopted?.tab && draft.text === adopted.text),
    );
    this.#adopted = null;
    const all = mine === null ? others : [...others, mine];
    remember(this.#key, all.length === 0 ? null : all.slice(-MAX_TABS));
  }

  async pictures(): Promise<Image[]> {
    const all = await this.#pictures()
      .then((shelf) => shelf.all())
      .catch(() => []);
    const here = all.filter((draft) => draft.id === this.#session && draft.tab !== undefined);
    const own = here.find((draft) => draft.tab === this.#tab);
    const found = own ?? here.at(-1);
    if (found !== undefined && own === undefined) this.#adoptedPictures = found.tab;
    return found?.images ?? [];
  }

  async keepPictures(images: Image[]): Promise<void> {
    const key = (tab: string) => `${this.#session} ${tab}`;
    try {
      const shelf = await this.#pictures();
      if (this.#adoptedPictures !== null) await shelf.remove(key(this.#adoptedPictures));
      this.#adoptedPictures = null;
      if (images.length === 0) await shelf.remove(key(this.#tab));
      else await shelf.put(key(this.#tab), { id: this.#session, tab: this.#tab, images });
    } catch {
      // Storage is full or blocked.
    }
  }

  get #key(): string {
    return `draft.${this.#session}`;
  }

  #all(): Text[] {
    const kept = recall<Text[] | string>(this.#key, []);
    return typeof kept === "string" ? [{ tab: "", text: kept, files: [] }] : kept;
  }

  #pictures(): Promise<Shelf<Pictures>> {
    this.#shelf ??= openShelf<Pictures>("drafts");
    return this.#shelf;
  }
}

/** Stable over a reload, and different in each tab. */
function tabId(): string {
  const known = inTab<string>("tab");
  if (known !== undefined) return known;
  const made = crypto.randomUUID();
  keepInTab("tab", made);
  return made;
}
