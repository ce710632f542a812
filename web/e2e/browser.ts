// A real browser. Every page that a test opens is watched: a console error, a request to another origin or an
// accessibility violation fails the test.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { Role } from "../src/lib/api/schema.ts";
import type { WeirServer } from "./server.ts";

const artefacts = process.env["WEIR_ARTEFACTS"] ?? resolve(import.meta.dirname, "../artefacts");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

function chromiumPath(): string {
  const found = [
    process.env["CHROMIUM"],
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ].find((path) => path !== undefined && existsSync(path));
  if (found === undefined)
    throw new Error("no Chromium: install it (on Debian: apt-get install chromium), or set CHROMIUM");
  return found;
}

export const DESKTOP = { width: 1400, height: 900 };
export const PHONE = { width: 390, height: 844 };

export class Visitors {
  readonly #browser: Browser;
  #contexts: BrowserContext[] = [];
  #faults: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<Visitors> {
    const args = ["--disable-dev-shm-usage", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])];
    return new Visitors(await chromium.launch({ executablePath: chromiumPath(), args }));
  }

  /** Opens a URL as a first-time visitor. */
  async visit(server: WeirServer, address: string, options: BrowserContextOptions = {}): Promise<Page> {
    // Tests play with the network, which a service worker would be in the way of.
    const context = await this.#browser.newContext({ viewport: DESKTOP, serviceWorkers: "block", ...options });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(Number(process.env["WEIR_PATIENCE"] ?? 30_000));
    page.on("console", (message) => {
      // The browser's own messages about an unreachable server are not the page's fault.
      if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text()))
        this.#faults.push(message.text());
    });
    page.on("pageerror", (error) => this.#faults.push(error.stack ?? error.message));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol.startsWith("http") && origin !== new URL(server.url).origin)
        this.#faults.push(`a request left the origin: ${request.url()}`);
    });
    await page.goto(address);
    return page;
  }

  /** Saves screenshots when a test failed. */
  async picture(name: string): Promise<void> {
    const pages = this.#contexts.flatMap((context) => context.pages());
    for (const [at, page] of pages.entries())
      await screenshot(page, `failed-${name.replace(/\W+/g, "-")}-${at}`).catch(() => undefined);
  }

  /** Closes what the test opened, and returns what went wrong. */
  async leave(): Promise<string[]> {
    const faults = this.#faults;
    this.#faults = [];
    for (const context of this.#contexts) await context.close();
    this.#contexts = [];
    return faults;
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** The link that opens a session with the server's own token. */
export function linkTo(server: WeirServer, session: string): string {
  return `${server.link}&session=${session}`;
}

/** Opens a session with a token of this role. */
export async function openAs(
  visitors: Visitors,
  server: WeirServer,
  role: Role,
  session: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const { token } = await server.api<{ token: string }>("POST", "v1/tokens", { name: role, role });
  return visitors.visit(server, `${server.url}#token=${token}&session=${session}`, options);
}

/** A card that waits for a decision. */
export function card(page: Page, label: string) {
  return page.getByRole("group", { name: label, exact: true });
}

/** The names of the buttons that decide. */
export async function buttonsOf(page: Page, label: string): Promise<string[]> {
  const buttons = card(page, label).getByRole("group", { name: "Decision" }).getByRole("button");
  const names = await buttons.evaluateAll((all) =>
    all.map((button) =>
      [...button.childNodes].filter((part) => part.nodeName !== "KBD").map((part) => part.textContent),
    ),
  );
  return names.map((parts) => parts.join("").trim());
}

/** Waits until a card that has just appeared or moved accepts an answer. */
export async function ready(page: Page, label: string): Promise<void> {
  await card(page, label).locator("[aria-label=Decision][aria-disabled=false]").waitFor();
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(artefacts, { recursive: true });
  await page.screenshot({ path: join(artefacts, `${name}.png`) });
}

/** The rules that can only be broken anew when nothing but the colours has changed. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/** Accessibility violations that axe finds on the current page. */
export async function violations(page: Page, changed: "all" | "colours" = "all"): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(
    async (rules) => {
      // Colours and menus in transition would give random results.
      const passing = document
        .getAnimations()
        .filter((animation) => animation.effect?.getTiming().iterations !== Infinity);
      await Promise.allSettled(passing.map((animation) => animation.finished));
      const { axe } = window as unknown as {
        axe: {
          run(
            options: object,
          ): Promise<{ violations: { id: string; nodes: { target: unknown; failureSummary: string }[] }[] }>;
        };
      };
      // Only violations are described, and nothing is fetched a second time.
      const only = rules === null ? {} : { runOnly: { type: "rule", values: rules } };
      const result = await axe.run({ resultTypes: ["violations"], preload: false, ...only });
      return result.violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id} at ${String(node.target)}: ${node.failureSummary}`),
      );
    },
    changed === "all" ? null : COLOURS,
  );
}

export function composer(page: Page) {
  return page.getByLabel("Message to the agent");
}

export async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** All rows that are in the document. */
export function conversation(page: Page) {
  return page.getByRole("log", { name: "Conversation" });
}

/** What the agent said; the prompt, which holds the script, is not searched. */
export function said(page: Page, text: string | RegExp) {
  return conversation(page).locator(".said").getByText(text);
}
