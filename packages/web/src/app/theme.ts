import { recall, remember } from "../remember.js";

const KEY = "theme";

/** Applies the theme that the visitor has chosen; without a choice the system's theme applies. */
export function applyTheme(): void {
  const chosen = recall(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
}

/** Switches between light and dark, for this visit and later ones. */
export function switchTheme(): void {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  const next = dark ? "light" : "dark";
  document.documentElement.dataset["theme"] = next;
  remember(KEY, next);
}
