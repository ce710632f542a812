// Which sessions this tab shows, kept in the browser's history: the back button returns to the previous sessions, and a
// reload of one of two tabs shows what that tab had. The address names the first of them.

/** The panes of the current history entry. Null if the page was just opened. */
export function panesHere(): string[] | null {
  const { panes } = (history.state ?? {}) as { panes?: unknown };
  return Array.isArray(panes) ? panes.filter((id): id is string => typeof id === "string") : null;
}

/** Adds a history entry: the back button returns to what was shown before. */
export function stepTo(panes: string[]): void {
  if (panesHere()?.join(" ") !== panes.join(" ")) history.pushState({ panes }, "", addressOf(panes));
}

/** Replaces the panes of the current history entry. */
export function stayWith(panes: string[]): void {
  history.replaceState({ panes }, "", addressOf(panes));
}

/** The address of an entry of a session. */
export function addressOfEntry(session: string, entry: number): string {
  return `${location.origin}${addressOf([session])}&entry=${entry}`;
}

/** A fragment, which no server or log ever sees. It opens the session for anyone who is signed in and may see it. */
function addressOf(panes: string[]): string {
  const base = location.pathname + location.search;
  return panes[0] === undefined ? base : `${base}#session=${encodeURIComponent(panes[0])}`;
}
