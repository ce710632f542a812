// Takes the pictures of the page: `node page-pictures.mjs READY_FILE FOLDER`, with the ready file of a `weir demo`.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [ready, folder] = process.argv.slice(2);
const { url, token } = JSON.parse(readFileSync(ready, "utf8"));

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place !== undefined && existsSync(place));
if (executablePath === undefined) throw new Error("no Chromium found: install it, or set CHROMIUM");

const answer = await fetch(`${url}/v1/sessions`, { headers: { Authorization: `Bearer ${token}` } });
const { sessions } = await answer.json();
const link = `${url}/#token=${token}&session=${sessions[0].id}`;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });
try {
  for (const [name, width, height] of [
    ["page", 1280, 800],
    ["phone", 390, 844],
  ]) {
    const context = await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: 1,
      colorScheme: "light",
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    await page.goto(link);
    // The tour ends with a question that waits for an answer.
    await page.getByRole("radio").or(page.getByRole("checkbox")).first().waitFor();
    // On a wide screen the changes of files are shown next to it.
    if (width > 1000) await page.getByText("Side by side").waitFor();
    // A card that has just appeared is dimmed.
    await page.locator("[aria-label=Decision][aria-disabled=false]").waitFor();
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" });
    await context.close();
  }
} finally {
  await browser.close();
}
