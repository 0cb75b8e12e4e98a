import { renderDefault, type Setting } from "./setting.js";
import { SETTINGS } from "./settings.js";

/** The settings with their names and their defaults as text. */
export function listSettings() {
  return Object.entries<Setting<unknown, unknown>>(SETTINGS).map(([name, one]) => ({
    ...one,
    name,
    shown: renderDefault(one),
  }));
}
