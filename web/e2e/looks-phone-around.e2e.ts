// The list, the details, menus and dialogs, on a phone.

import { looksRight, ON_A_PHONE } from "./looks.ts";
import { AROUND_IT } from "./states.ts";

looksRight(AROUND_IT, ON_A_PHONE);
