const KEY = "openenv-web.token";

/** The token that every request of this tab carries. It is stored for the tab, and never in a URL. */
let current = read();

export function tabToken(): string | undefined {
  return current;
}

/** The header with the tab's token, if there is one. */
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
    // Without storage, the token lasts as long as the page.
  }
}

/** Removes the token from a URL such as `/web/#token=…`, so that it is not shared or stored with the URL. */
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
