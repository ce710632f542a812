// Accidental presses do not answer a card.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { card, composer, conversation, openAs, ready, said } from "./browser.ts";
import { script, until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const BASH = "Permission for Bash";
const NAMES = ["a", "b", "c"];

/** Three sub-agents that ask at the same time. */
async function three(): Promise<{ server: WeirServer; page: Page; left: () => Promise<number> }> {
  const server = await serve();
  const { id } = await server.session();
  const tools = NAMES.map((name) => ({
    tool: "Task",
    input: {
      description: `Make ${name}`,
      subagent_type: "general-purpose",
      prompt: script({ tool: "Bash", input: { command: `mkdir ${name}` } }, { text: "Made." }),
    },
  }));
  await server.say(id, script({ tools }, { text: "The end." }));
  const left = async () => (await server.info(id)).waiting_for.permissions;
  await until("all of them wait", async () => (await left()) === NAMES.length);
  const page = await openAs(open(), server, "driver", id);
  await ready(page, BASH);
  return { server, page, left };
}
const made = (server: WeirServer) => NAMES.filter((name) => existsSync(join(server.root, name)));
/** What the shown card asks. */
const command = (page: Page) => card(page, BASH).getByLabel("Command").innerText({ timeout: 1000 });
/** Waits for the next card, and returns what it asks. */
async function next(page: Page, before: string): Promise<string> {
  let now = before;
  await until("the next card", async () => {
    now = await command(page).catch(() => before);
    return now !== before;
  });
  return now;
}

describe("a key", () => {
  it("does nothing while no card has the focus, and is shown only by the card that has it", async () => {
    const { server, page } = await three();
    const key = card(page, BASH).locator("kbd", { hasText: "a" });
    expect(await key.isVisible()).toBe(false);
    await conversation(page).focus();
    await page.keyboard.press("a");
    await page.keyboard.press("d");
    await page.keyboard.press("r");
    await until("the card has the focus", () => card(page, BASH).evaluate((element) => element.matches(":focus")));
    expect(await key.isVisible()).toBe(true);
    expect(
      await card(page, BASH)
        .getByLabel(/What should it do instead/)
        .count(),
    ).toBe(0);
    expect(made(server)).toEqual([]);
    const first = await command(page);
    await ready(page, BASH);
    await page.keyboard.press("a");
    await next(page, first);
  });

  it("that is held answers only one card", async () => {
    const { server, page, left } = await three();
    const first = await command(page);
    await page.keyboard.press("r");
    await page.keyboard.down("a");
    // The browser sends these while the key is down; long enough for the next card to be ready.
    const second = await held(page, "a", first);
    expect(await left()).toBe(2);
    expect(made(server).length).toBeLessThanOrEqual(1);
    // Pressed again, it counts: the focus has moved to the next card.
    await page.keyboard.press("a");
    await next(page, second);
  });

  it("that is held on a button presses it once", async () => {
    const { page, left } = await three();
    const first = await command(page);
    await card(page, BASH).getByRole("button", { name: "Allow once" }).focus();
    await page.keyboard.down("Enter");
    await held(page, "Enter", first);
    expect(await left()).toBe(2);
    await page.keyboard.up("Enter");
    // Also if the focus is on the next card's button while the key is down.
    await page.keyboard.down("Enter");
    await card(page, BASH).getByRole("button", { name: "Allow once" }).focus();
    for (let count = 0; count < 20; count += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    expect(await left()).toBe(2);
  });

  it("is ignored by a card that has just appeared", async () => {
    const { page, left } = await three();
    const first = await command(page);
    await page.keyboard.press("r");
    // The second press comes just as the second card appears.
    await page.evaluate(() => {
      const press = () => {
        const target = document.activeElement ?? document.body;
        target.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
      };
      const dock = document.querySelector("[aria-label='Open request']");
      new MutationObserver(() => {
        requestAnimationFrame(press);
        for (const later of [50, 150, 300, 400]) setTimeout(press, later);
      }).observe(dock!, { childList: true, subtree: true });
      press();
    });
    await next(page, first);
    await ready(page, BASH);
    expect(await left()).toBe(2);
  });
});

describe("a click", () => {
  it("right after another one does not answer an unseen card", async () => {
    const { page, left } = await three();
    const first = await command(page);
    const box = (await card(page, BASH).getByRole("button", { name: "Allow once" }).boundingBox())!;
    // Rapid clicking: the clicks after the first come as soon as the next card appears.
    await page.evaluate(() => {
      const dock = document.querySelector("[aria-label='Open request']")!;
      const click = () => {
        const button = [...dock.querySelectorAll("button")].find((one) => one.textContent?.startsWith("Allow once"));
        button?.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        button?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2, cancelable: true }));
      };
      new MutationObserver(() => {
        requestAnimationFrame(click);
        for (const later of [50, 150, 300, 400]) setTimeout(click, later);
      }).observe(dock, { childList: true, subtree: true });
    });
    await page.mouse.click(box.x + 20, box.y + 8);
    await next(page, first);
    await ready(page, BASH);
    expect(await left()).toBe(2);
  });

  it("that started before the card moved under it does not count", async () => {
    const { server, page } = await three();
    const first = await command(page);
    const button = card(page, BASH).getByRole("button", { name: "Allow once" });
    const box = (await button.boundingBox())!;
    // The composer grows, and the card moves, while the button is down.
    await page.mouse.move(box.x + 10, box.y + 8);
    await page.mouse.down();
    await composer(page).fill("a\nmessage\nwith\nlines");
    await page.mouse.up();
    await ready(page, BASH);
    expect((await button.boundingBox())!.y).toBeLessThan(box.y);
    expect(await command(page)).toBe(first);
    expect(made(server)).toEqual([]);
    await button.click();
    await next(page, first);
  });
});

describe("several requests", () => {
  it("are shown one at a time, and stay where they are", async () => {
    const { page } = await three();
    await card(page, BASH).getByText("1 of 3").waitFor();
    const first = await command(page);
    await card(page, BASH).getByRole("button", { name: "Next request" }).click();
    await card(page, BASH).getByText("2 of 3").waitFor();
    expect(await command(page)).not.toBe(first);
    await card(page, BASH).getByRole("button", { name: "Previous request" }).click();
    await card(page, BASH).getByText("1 of 3").waitFor();
    expect(await command(page)).toBe(first);
    await card(page, BASH).getByText("asked by Make").waitFor();
    let shown = first;
    for (const left of ["1 of 2", null]) {
      await ready(page, BASH);
      await card(page, BASH).getByRole("button", { name: "Allow once" }).click();
      shown = await next(page, shown);
      if (left !== null) await card(page, BASH).getByText(left).waitFor();
    }
    await ready(page, BASH);
    await card(page, BASH).getByRole("button", { name: "Allow once" }).click();
    await said(page, "The end.").waitFor();
    // The focus moves to where the user can continue.
    await until("the composer has the focus", () => composer(page).evaluate((element) => element.matches(":focus")));
  });
});

/** Holds a key down until the next card has been ready for a while, then releases it. */
async function held(page: Page, key: string, before: string): Promise<string> {
  let now = before;
  await until("the next card is ready", async () => {
    await page.keyboard.down(key);
    now = await command(page).catch(() => before);
    return now !== before && (await isReady(page));
  });
  for (let count = 0; count < 20; count += 1) await page.keyboard.down(key);
  await page.keyboard.up(key);
  return now;
}

async function isReady(page: Page): Promise<boolean> {
  return (await card(page, BASH).getByRole("group", { name: "Decision" }).getAttribute("aria-disabled")) === "false";
}
