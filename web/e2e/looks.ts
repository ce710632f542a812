// What must be true of every state of the page, on one screen: it is accessible, nothing is wider than the screen, and
// anyone who sees the buttons of a card also sees what they decide on.

import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, it } from "vitest";
import { violations } from "./browser.ts";
import { stage } from "./setup.ts";
import { become, nameOf, screenOf, show, type State } from "./states.ts";

const isLong = process.env["WEIR_LONG_TESTS"] === "1";

/** On a wide screen. A short run tries one scheme here and the other one on the phone. */
export const WIDE = isLong
  ? [screenOf(1440, "dark"), screenOf(1440, "light"), screenOf(1024, "light")]
  : [screenOf(1440, "light")];
export const ON_A_PHONE = isLong ? [screenOf(390, "dark"), screenOf(390, "light")] : [screenOf(390, "dark")];

/** Builds each state once, on the first screen, and turns that into the others. */
export function looksRight(states: readonly State[], screens: readonly BrowserContextOptions[]): void {
  const { serve, open } = stage();
  for (const state of states)
    it(state.name, async () => {
      const page = await show(state, serve, open(), screens[0]!);
      let before: BrowserContextOptions | null = null;
      for (const screen of screens) {
        await become(page, screen);
        const changed = before?.viewport?.width === screen.viewport?.width ? "colours" : "all";
        before = screen;
        const on = `, ${nameOf(screen)}`;
        expect(await violations(page, changed), `violations${on}`).toEqual([]);
        expect(await tooWide(page), `parts that are wider than their place${on}`).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollTop), `the page is scrolled${on}`).toBe(0);
        expect(await outOfSight(page), `parts of the card that are out of sight${on}`).toEqual([]);
      }
    });
}

/** What has to be scrolled sideways, apart from code, which may be. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("*")]
      .filter((part) => part.closest("pre, .prose, .diff, .terminal") === null)
      .filter((part) => {
        const scrolls = ["auto", "scroll"].includes(getComputedStyle(part).overflowX);
        return part === document.documentElement || scrolls ? part.scrollWidth > part.clientWidth + 1 : false;
      })
      .map((part) => `${part.tagName}.${part.className}: ${part.scrollWidth} in ${part.clientWidth}`),
  );
}

/** The buttons of the card, and what they decide on, if these are not on the screen. */
function outOfSight(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const shown = document.querySelector("[data-request]");
    if (shown === null || document.querySelector("dialog[open]") !== null) return [];
    const body = shown.querySelector(".body")!.getBoundingClientRect();
    const isOnTop = (part: Element, x: number, y: number) => {
      const there = document.elementFromPoint(x, y);
      return there !== null && (part.contains(there) || there.contains(part));
    };
    const hidden = [...shown.querySelectorAll("[aria-label=Decision] button")].filter((button) => {
      const { left, right, top, bottom } = button.getBoundingClientRect();
      const isInside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
      return !isInside || !isOnTop(button, (left + right) / 2, (top + bottom) / 2);
    });
    // A line of it is enough: the rest can be scrolled to, and the card says so.
    const LINE = 18;
    const exact = [...shown.querySelectorAll("pre, .diff, .plan, fieldset, .message")];
    const facts = exact.length > 0 ? exact : [...shown.querySelectorAll("dl")];
    const isFactShown = facts.some((fact) => {
      const { left, right, top, bottom } = fact.getBoundingClientRect();
      const [from, to] = [Math.max(top, body.top), Math.min(bottom, body.bottom, innerHeight)];
      return to - from >= LINE && isOnTop(fact, (left + right) / 2, from + LINE / 2);
    });
    return [...hidden.map((button) => button.textContent?.trim() ?? ""), ...(isFactShown ? [] : ["what it is about"])];
  });
}
