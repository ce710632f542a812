// Incremental Markdown: only blocks that may still change are parsed again.
//
// A text is a list of blocks. While it streams, all but the last two blocks are final; those stay open, because a list
// may continue after a blank line. The complete text is parsed once as a whole, so that what depends on the end (link
// definitions) is right too.

import { marked, type Token } from "marked";

export type Block = { kind: "html"; source: string; html: string } | { kind: "code"; language: string; text: string };

/** How many blocks at the end stay open. */
const OPEN = 2;

export class GrowingMarkdown {
  #text = "";
  #closedLength = 0;
  #closed: Block[] = [];
  readonly #render: (html: string) => string;

  constructor(render: (html: string) => string) {
    this.#render = render;
  }

  /** The blocks of this text. Cheap if it continues the previous one. */
  update(text: string, complete: boolean): Block[] {
    if (complete || !text.startsWith(this.#text)) {
      this.#closed = [];
      this.#closedLength = 0;
    }
    this.#text = text;
    const tokens = marked.lexer(text.slice(this.#closedLength), OPTIONS);
    const shown = tokens.filter((token) => token.type !== "space").length;
    let left = complete ? shown : Math.max(0, shown - OPEN);
    const open: Block[] = [];
    for (const token of tokens) {
      if (left > 0) {
        this.#closedLength += token.raw.length;
        if (token.type !== "space") {
          left -= 1;
          this.#closed.push(this.#block(token, tokens.links));
        }
      } else if (token.type !== "space") open.push(this.#block(token, tokens.links));
    }
    return [...this.#closed, ...open];
  }

  #block(token: Token, links: Links): Block {
    if (token.type === "code") {
      return { kind: "code", language: (token.lang ?? "").split(/\s/)[0] ?? "", text: token.text };
    }
    const list = Object.assign([token], { links });
    return { kind: "html", source: token.raw, html: this.#render(marked.parser(list, OPTIONS)) };
  }
}

type Links = ReturnType<typeof marked.lexer>["links"];

const renderer = new marked.Renderer();
// A picture from elsewhere would send a request to another origin.
renderer.image = ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`;
// Raw HTML is shown as text.
renderer.html = ({ text }) => escape(text);

const OPTIONS = { gfm: true, breaks: false, renderer } as const;

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
