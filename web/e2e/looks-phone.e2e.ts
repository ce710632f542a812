// Every state of the page on a phone.

import { looksRight } from "./looks.ts";
import { screenOf } from "./states.ts";

const isLong = process.env["WEIR_LONG_TESTS"] === "1";
looksRight([screenOf(390, "dark"), ...(isLong ? [screenOf(390, "light")] : [])]);
