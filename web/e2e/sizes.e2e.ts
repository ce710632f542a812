// Long sessions, small screens, dark mode.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { composer, conversation, linkTo, PHONE, ready, said, screenshot, send, violations } from "./browser.ts";
import { script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();

async function tour(server: WeirServer, page: Page): Promise<void> {
  await send(
    page,
    script(
      {
        thinking: "A little of everything.",
        text: "## A heading\n\nSome *text* with `code`.\n\n```ts\nconst answer: number = 42;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        tool: "Bash",
        input: { command: "printf 'one\\ntwo\\n'", description: "count" },
      },
      { tool: "Write", input: { file_path: `${server.root}/notes.md`, content: "# Notes\n\nOne.\n" } },
      { tool: "Bash", input: { command: "git push origin main", description: "Push" } },
      { text: "The end." },
    ),
  );
  await page
    .getByRole("group", { name: /Permission for/ })
    .first()
    .waitFor();
}

describe("sizes and colours", () => {
  it("are as good on a phone", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "On the way", permission_mode: "acceptEdits" });
    const page = await open().visit(server, linkTo(server, id), {
      viewport: PHONE,
      hasTouch: true,
      isMobile: true,
    });
    await page.getByLabel("Message to the agent").fill(script({ text: "A short **answer**, with `code`." }));
    await page.getByRole("button", { name: "Send" }).click();
    await until("an answer", async () => (await conversation(page).locator(".said").count()) > 0);
    await server.settled(id);
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("navigation", { name: "Sessions" }).getByText("On the way").waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "phone-sessions");
    await page.getByRole("button", { name: "Close", exact: true }).click({ position: { x: 380, y: 400 } });
    await page.getByRole("button", { name: "Details" }).click();
    await page.getByRole("tab", { name: /Usage/ }).click();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "phone-details");
    await page.getByRole("button", { name: "Close the details" }).click();
    await server.say(
      id,
      script({ tool: "Bash", input: { command: "git push origin main", description: "Push" } }, { text: "The end." }),
    );
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "phone-permission");
    const other = await open().visit(server, server.link, { viewport: PHONE, hasTouch: true, isMobile: true });
    await other.getByRole("navigation", { name: "Sessions" }).getByText("On the way").waitFor();
    await screenshot(other, "phone-first");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(wide, "the page is wider than the screen").toBe(false);
    await page.getByRole("button", { name: "Allow once" }).tap();
    await said(page, "The end.").waitFor();
  });

  it("are readable in the dark and in the light", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Colours", permission_mode: "acceptEdits" });
    const page = await open().visit(server, linkTo(server, id), { colorScheme: "dark" });
    await tour(server, page);
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await colour();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "dark");
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("menuitemradio", { name: "Light" }).click();
    await page.getByRole("menu").waitFor({ state: "detached" });
    expect(await colour()).not.toBe(dark);
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page
      .getByRole("group", { name: /Permission for/ })
      .first()
      .waitFor();
    expect(await colour()).not.toBe(dark);
    await screenshot(page, "light");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("do not move for those who want no motion", async () => {
    const server = await serve();
    const { id } = await server.session();
    await server.say(id, script({ sleep: 600, text: "Late." }));
    const moving = async (reducedMotion: "reduce" | "no-preference") => {
      const page = await open().visit(server, linkTo(server, id), { reducedMotion });
      await page.getByText("Working").first().waitFor();
      await page.getByRole("button", { name: "This session" }).click();
      await page.getByRole("menu").waitFor();
      return page.evaluate(() => document.getAnimations().length);
    };
    expect(await moving("no-preference"), "what moves otherwise").toBeGreaterThan(0);
    expect(await moving("reduce")).toBe(0);
  });

  for (const [width, height] of [
    [844, 390],
    [667, 375],
    [390, 420],
    [320, 480],
  ] as const) {
    it(`leave the buttons in reach while a card waits: ${width}x${height}`, async () => {
      const server = await serve();
      const { id } = await server.session();
      const page = await open().visit(server, linkTo(server, id), {
        viewport: { width, height },
        hasTouch: true,
        isMobile: true,
      });
      const command = Array.from({ length: 30 }, (_, at) => `mkdir line${at}`).join("\n");
      await server.say(id, script({ tool: "Bash", input: { command } }, { text: "The end." }));
      await ready(page, "Permission for Bash");
      await composer(page).fill("A long draft.\n".repeat(20));
      const inSight = async (name: string) => {
        const button = page.getByRole("button", { name, exact: true });
        const box = (await button.boundingBox())!;
        expect(box.y >= 0 && box.y + box.height <= height, `${name} at ${box.y}..${box.y + box.height}`).toBe(true);
        expect(box.x >= 0 && box.x + box.width <= width, `${name} at ${box.x}..${box.x + box.width}`).toBe(true);
      };
      await inSight("Queue");
      await page.getByRole("button", { name: "More ways to send" }).tap();
      for (const name of [/^Send into this turn/, /^Stop this turn/]) {
        const box = (await page.getByRole("menuitem", { name }).boundingBox())!;
        expect(box.x >= 0 && box.x + box.width <= width && box.y >= 0, `${name} at ${box.x}, ${box.y}`).toBe(true);
      }
      await page.keyboard.press("Escape");
      await composer(page).fill("");
      await screenshot(page, `short-${width}x${height}`);
      await inSight("Stop");
      const allow = page.getByRole("button", { name: "Allow once" });
      await allow.scrollIntoViewIfNeeded();
      await inSight("Allow once");
      await ready(page, "Permission for Bash");
      await allow.tap();
      await said(page, "The end.").waitFor();
    });
  }

  it("do not grow with the session: 20,000 entries", async () => {
    const server = await serve();
    const { id } = await server.session();
    await server.say(id, script({ text: "That was all.", misbehave: { messages: 20_000 } }));
    await server.settled(id);
    const page = await open().visit(server, linkTo(server, id));
    await said(page, "That was all.").waitFor();
    const rows = () => conversation(page).locator(".row").count();
    expect(await rows()).toBeLessThan(200);
    const log = conversation(page);
    // Older entries load when the reader scrolls up, and what is being read stays in place.
    await log.hover();
    await until("older entries are loaded", async () => {
      await page.mouse.wheel(0, -4000);
      return (await log.evaluate((element) => element.scrollHeight)) > 60_000;
    });
    expect(await rows()).toBeLessThan(200);
    await page.getByRole("button", { name: "Jump to latest" }).click();
    await said(page, "That was all.").waitFor();
    // A reader at the end stays at the end.
    await send(page, script({ text: "And one more." }));
    await said(page, "And one more.").waitFor();
    await screenshot(page, "20000-entries");
  });
});
