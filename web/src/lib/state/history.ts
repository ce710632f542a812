// Which sessions this tab shows, kept in the browser's history: the back button leads to the sessions before, and a reload
// of one of two tabs shows what that tab had. The address stays as it is.

/** What the current place of the history shows. None where the page has just been opened. */
export function panesHere(): string[] | null {
  const { panes } = (history.state ?? {}) as { panes?: unknown };
  return Array.isArray(panes) ? panes.filter((id): id is string => typeof id === "string") : null;
}

/** Takes a step: the back button leads to what was shown before. */
export function stepTo(panes: string[]): void {
  if (panesHere()?.join(" ") !== panes.join(" ")) history.pushState({ panes }, "");
}

/** The same place shows this from now on. */
export function stayWith(panes: string[]): void {
  history.replaceState({ panes }, "");
}
