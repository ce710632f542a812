// What was typed and not sent yet: it survives a reload and a switch of session.

import type { Picture } from "../api/types.ts";
import { inTab, keepInTab, openShelf, recall, remember, type Shelf } from "./keep.ts";

/** Requests that are over are forgotten as newer ones come. */
const MAX_DRAFTS = 40;

type Drafts = [id: string, draft: unknown][];

/** What was typed into a card, by request. */
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
  images: Picture[];
}

/** As many tabs keep a draft of one session. */
const MAX_TABS = 8;

/**
 * The message that is being written to a session, by tab: one tab that sends or empties its message leaves those of the
 * others alone. A tab that has none takes up what another one left, as after that one was closed.
 */
export class MessageDraft {
  readonly text: string;
  readonly files: string[];
  readonly #session: string;
  readonly #tab: string;
  /** What was taken up from another tab; it is this one's from now on. */
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

  async pictures(): Promise<Picture[]> {
    const all = await this.#pictures()
      .then((shelf) => shelf.all())
      .catch(() => []);
    const here = all.filter((draft) => draft.id === this.#session && draft.tab !== undefined);
    const own = here.find((draft) => draft.tab === this.#tab);
    const found = own ?? here.at(-1);
    if (found !== undefined && own === undefined) this.#adoptedPictures = found.tab;
    return found?.images ?? [];
  }

  async keepPictures(images: Picture[]): Promise<void> {
    const key = (tab: string) => `${this.#session} ${tab}`;
    try {
      const shelf = await this.#pictures();
      if (this.#adoptedPictures !== null) await shelf.remove(key(this.#adoptedPictures));
      this.#adoptedPictures = null;
      if (images.length === 0) await shelf.remove(key(this.#tab));
      else await shelf.put(key(this.#tab), { id: this.#session, tab: this.#tab, images });
    } catch {
      // Full or forbidden.
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

/** The same over a reload, and another one in each tab. */
function tabId(): string {
  const known = inTab<string>("tab");
  if (known !== undefined) return known;
  const made = crypto.randomUUID();
  keepInTab("tab", made);
  return made;
}
