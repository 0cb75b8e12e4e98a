import { loadPart } from "../../util/load-part.js";
import type { Settings } from "../config/settings.js";
import { checkPlugins } from "../plugins/check-plugins.js";
import type { ServerPlugin } from "../plugins/plugin.js";

/** The part of openenv-ts that records episodes. */
export interface RolloutsPart {
  readonly createRollouts: CreateRollouts;
}

export type CreateRollouts = (settings: StoreSettings) => ServerPlugin;

export interface StoreSettings {
  folder: string;
  /** Requests and answers are recorded. */
  contents: boolean;
  /** Older episodes are deleted. `maxAge` is milliseconds. */
  limits: { maxAge: number | undefined; maxEpisodes: number; maxBytes: number };
}

type Given = Pick<
  Settings,
  "plugins" | "store" | "storeContents" | "storeMaxAge" | "storeMaxEpisodes" | "storeMaxBytes"
>;

const DAY_MS = 86_400_000;

/** The settings with the plugin that records, if there is a store. @throws ConfigError, also when the part is missing. */
export async function addRecorder<T extends Given>(settings: T): Promise<T> {
  const {
    store: folder,
    storeContents,
    storeMaxAge,
    storeMaxEpisodes: maxEpisodes,
    storeMaxBytes: maxBytes,
  } = settings;
  if (folder === undefined) return settings;
  const load = () => import("#parts/rollouts" as string);
  const { createRollouts } = await loadPart<RolloutsPart>("rollouts", load, "OPENENV_STORE");
  const maxAge = storeMaxAge === undefined ? undefined : storeMaxAge * DAY_MS;
  const plugin = createRollouts({
    folder,
    contents: storeContents === "on",
    limits: { maxAge, maxEpisodes, maxBytes },
  });
  return { ...settings, plugins: checkPlugins([...settings.plugins, plugin]) };
}
