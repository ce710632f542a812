// Every state of the page at three widths, light and dark, as screenshots: `npm run gallery`.
//
// GALLERY_WIDTHS=390 and GALLERY_SCHEMES=dark take fewer; GALLERY_ONLY=plan takes the states whose name contains it.

import { it } from "vitest";
import { screenshot } from "./browser.ts";
import { stage } from "./setup.ts";
import { become, nameOf, screenOf, show, STATES } from "./states.ts";

const { serve, open } = stage();
const list = (name: string, all: string[]) => process.env[name]?.split(",") ?? all;
const only = process.env["GALLERY_ONLY"] ?? "";
const widths = list("GALLERY_WIDTHS", ["1440", "1024", "390"]).map(Number);
const schemes = list("GALLERY_SCHEMES", ["light", "dark"]) as ("light" | "dark")[];
const screens = widths.flatMap((width) => schemes.map((scheme) => screenOf(width, scheme)));

// A phone is not a narrow window: it has a state of its own.
for (const ofKind of [screens.filter(({ isMobile }) => !isMobile), screens.filter(({ isMobile }) => isMobile)])
  for (const state of STATES.filter(({ name }) => name.includes(only))) {
    if (ofKind.length === 0) continue;
    it(`${state.name} ${ofKind.map(nameOf).join(" ")}`, async () => {
      const page = await show(state, serve, open(), ofKind[0]!);
      for (const screen of ofKind) {
        await become(page, screen);
        await screenshot(page, `${state.name}-${nameOf(screen)}`);
      }
    });
  }
