// The token: it comes in the fragment, which no server or log ever sees, and is removed from the address bar at once.

const KEY = "weir.token";

/** Reads token, session and entry from the fragment. One with a token is removed. */
export function takeFragment(): { token: string | null; session: string | null; entry: number | null } {
  const params = new URLSearchParams(location.hash.slice(1));
  const token = params.get("token");
  const session = params.get("session");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  const entry = Number(params.get("entry"));
  return { token, session, entry: Number.isSafeInteger(entry) && entry > 0 ? entry : null };
}

export function storedToken(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function storeToken(token: string | null): void {
  try {
    if (token === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, token);
  } catch {
    // Without storage the token lives as long as the page.
  }
}
