// The list, the details, menus and dialogs, on a wide screen.

import { looksRight, WIDE } from "./looks.ts";
import { AROUND_IT } from "./states.ts";

looksRight(AROUND_IT, WIDE);
