// Every state of the page on a wide screen.

import { looksRight } from "./looks.ts";
import { screenOf } from "./states.ts";

const isLong = process.env["WEIR_LONG_TESTS"] === "1";
// A short run tries each size and each scheme once.
looksRight([screenOf(1440, "light"), ...(isLong ? [screenOf(1440, "dark"), screenOf(1024, "light")] : [])]);
