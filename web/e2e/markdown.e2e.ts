// Markdown of the model as the browser shows it, and what it can never do.

import { resolve } from "node:path";
import { build, type Rollup } from "vite";
import { describe, expect, it } from "vitest";
import { card, conversation, linkTo, said, screenshot, send, violations } from "./browser.ts";
import { script } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();

const TEXT = [
  "3. third",
  "4. fourth",
  "",
  "Then:",
  "",
  "1. Do this:",
  "",
  "```sh",
  "make",
  "```",
  "",
  "2. Then that.",
  "",
  "Open:",
  "",
  "- [ ] open task",
  "- [x] finished task",
  "",
  "| name | count | state |",
  "|:-----|------:|:-----:|",
  "| one  | 1     | ok    |",
  "",
  "The end.",
].join("\n");

/** List numbers, checkboxes and column alignment as rendered. */
const shown = (element: Element) => ({
  starts: [...element.querySelectorAll("ol")].map((list) => list.start),
  boxes: [...element.querySelectorAll("input")].map((box) => [
    box.type,
    box.checked,
    box.disabled,
    box.offsetWidth < 24,
  ]),
  columns: [...element.querySelectorAll("td")].map((cell) => getComputedStyle(cell).textAlign),
});
const EXPECTED = {
  starts: [3, 1, 2],
  boxes: [
    ["checkbox", false, true, true],
    ["checkbox", true, true, true],
  ],
  columns: ["left", "right", "center"],
};

describe("Markdown", () => {
  it("keeps the numbers of lists, the boxes of tasks and the alignment of columns", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: TEXT }));
    await said(page, "The end.").waitFor();
    await server.settled(id);
    expect(await conversation(page).locator(".said .prose").evaluate(shown)).toEqual(EXPECTED);
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "markdown");
  });

  it("does so in a plan, where numbers identify steps", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "plan" });
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ tool: "ExitPlanMode", input: { plan: TEXT } }, { text: "Done." }));
    await card(page, "Plan").locator(".prose").getByText("The end.").waitFor();
    expect(await card(page, "Plan").locator(".prose").evaluate(shown)).toEqual(EXPECTED);
  });
});

describe("the sanitizer", () => {
  it("lets no active attribute through", async () => {
    const server = await serve();
    const page = await open().visit(server, server.link);
    const entry = resolve(import.meta.dirname, "../src/lib/markdown/sanitize.ts");
    const built = (await build({
      configFile: false,
      logLevel: "silent",
      build: { write: false, lib: { entry, formats: ["iife"], name: "gate" } },
    })) as Rollup.RollupOutput[];
    const code = built[0]!.output[0].code;
    await page.evaluate(`${code}; window.gate = gate;`);
    const clean = (html: string) =>
      page.evaluate((html) => {
        const { gate } = window as unknown as { gate: { sanitize(html: string): string } | ((html: string) => string) };
        return typeof gate === "function" ? gate(html) : gate.sanitize(html);
      }, html);

    // Any input becomes a disabled checkbox.
    for (const html of [
      '<input type="password" name="p" value="x" autofocus onfocus="alert(1)">',
      '<input type="image" src="https://e.example/x" formaction="javascript:alert(1)">',
      '<input type="checkbox" form="f" onclick="alert(1)">',
      '<input type="file">',
      "<input>",
    ])
      expect(await clean(html)).toBe('<input type="checkbox" disabled="" aria-label="not done">');
    // Invalid values, and attributes of other tags.
    for (const [html, left] of [
      ['<ol start="javascript:alert(1)"><li>a</li></ol>', "<ol><li>a</li></ol>"],
      ['<ol start="-1" type="a"><li>a</li></ol>', "<ol><li>a</li></ol>"],
      ['<p align="right" title="t" start="2">a</p>', "<p>a</p>"],
      ['<table><tbody><tr><td align="javascript:x">a</td></tr></tbody></table>', "<td>a</td>"],
      ['<p style="position:fixed" class="card" id="x" data-x="1" aria-label="y">a</p>', "<p>a</p>"],
    ] as const)
      expect(await clean(html)).toContain(left);
    for (const href of ["javascript:alert(1)", "data:text/html,x", "//e.example", "/v1/me", " javascript:alert(1)"])
      expect(await clean(`<a href="${href}">a</a>`)).not.toContain("href");
    expect(await clean('<a href="https://e.example" target="_self" rel="opener" type="x" ping="https://e">a</a>')).toBe(
      '<a href="https://e.example" target="_blank" rel="noopener noreferrer nofollow">a</a>',
    );
  });
});
