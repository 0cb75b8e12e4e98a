const KEY = "openenv-web.token";

/** The token that every request of this tab carries. It is kept for the tab, and never in an address. */
let current = read();

export function tabToken(): string | undefined {
  return current;
}

/** The header that carries the tab's token, if there is one. */
export function tokenHeaders(): Record<string, string> {
  return current === undefined ? {} : { authorization: `Bearer ${current}` };
}

/** Replaces the tab's token; undefined removes it. */
export function keepToken(token: string | undefined): void {
  current = token;
  try {
    if (token === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

/** Moves the token out of an address such as `/web/#token=…`, so that it is not shared or kept with the address. */
export function takeTokenFromAddress(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  if (token !== "") keepToken(token);
  history.replaceState(null, "", location.pathname + location.search);
}

function read(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
