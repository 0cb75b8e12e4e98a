const PREFIX = "openenv-web.";

/** A choice from an earlier visit; undefined when the browser stores none. */
export function recall(key: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a choice; without storage it lasts as long as the tab. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {}
}
