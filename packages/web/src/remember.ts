const PREFIX = "openenv-web.";

/** A choice of an earlier visit; undefined where the browser keeps none. */
export function recall(key: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a choice; a browser that forbids it forgets it with the tab. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {}
}
