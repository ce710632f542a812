// Parts of the page that a first visit does not need at once: they are fetched when the browser has time, so that they
// are there when they are wanted, also without a connection.

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error: unknown) => {
      // Tried again the next time.
      loading = null;
      throw error;
    });
    return loading;
  };
}

export const panel = once(() => import("../../components/panel/Panel.svelte"));
export const newSession = once(() => import("../../components/dialogs/NewSession.svelte"));
export const loop = once(() => import("../../components/dialogs/Loop.svelte"));
export const help = once(() => import("../../components/dialogs/Help.svelte"));
export const access = once(() => import("../../components/dialogs/Access.svelte"));
export const sessionDialogs = once(() => import("../../components/dialogs/SessionDialogs.svelte"));
export const findBar = once(() => import("../../components/FindBar.svelte"));

/** Fetches all of them when nothing else is to be done. */
export function fetchLater(): void {
  const fetch = () => {
    for (const part of [panel, sessionDialogs, newSession, findBar, help, access]) void part().catch(() => undefined);
  };
  // Some browsers cannot say when they are idle.
  if ("requestIdleCallback" in window) requestIdleCallback(fetch, { timeout: 3000 });
  else setTimeout(fetch, 1000);
}
