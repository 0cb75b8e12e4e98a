import { recall, remember } from "../remember.js";

const KEY = "theme";

/** Puts on the theme that the visitor has chosen; without a choice the system's holds. */
export function applyTheme(): void {
  const chosen = recall(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
}

/** Changes between light and dark, for this visit and the next ones. */
export function switchTheme(): void {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  const next = dark ? "light" : "dark";
  document.documentElement.dataset["theme"] = next;
  remember(KEY, next);
}
