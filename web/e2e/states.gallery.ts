// Every state of the page at three widths, light and dark, as screenshots: `npm run gallery`.
//
// GALLERY_WIDTHS=390 and GALLERY_SCHEMES=dark take fewer; GALLERY_ONLY=plan takes the states whose name contains it.

import { it } from "vitest";
import { screenshot } from "./browser.ts";
import { stage } from "./setup.ts";
import { screenOf, show, STATES } from "./states.ts";

const { serve, open } = stage();
const list = (name: string, all: string[]) => process.env[name]?.split(",") ?? all;
const only = process.env["GALLERY_ONLY"] ?? "";

for (const width of list("GALLERY_WIDTHS", ["1440", "1024", "390"]))
  for (const scheme of list("GALLERY_SCHEMES", ["light", "dark"]) as ("light" | "dark")[])
    for (const state of STATES.filter(({ name }) => name.includes(only))) {
      it(`${state.name} ${width} ${scheme}`, async () => {
        const page = await show(state, serve, open(), screenOf(Number(width), scheme));
        await screenshot(page, `${state.name}-${width}-${scheme}`);
      });
    }
