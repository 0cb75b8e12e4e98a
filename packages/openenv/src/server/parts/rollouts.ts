import type { EpisodeRecord } from "../../protocol/episode.js";
import type { RolloutDetail, RolloutFacets, RolloutPage } from "../../protocol/rollouts.js";
import { loadPart } from "../../util/load-part.js";
import type { Settings } from "../config/settings.js";
import { checkPlugins } from "../plugins/check-plugins.js";
import type { ServerPlugin } from "../plugins/plugin.js";

/** The part of openenv-ts that records episodes. */
export interface RolloutsPart {
  readonly createRollouts: CreateRollouts;
  readonly openArchive: OpenArchive;
}

/** Opens the archive of a store without a server. @throws ConfigError when it cannot be used. */
export type OpenArchive = (folder: string, access: "read" | "write") => Promise<Archive>;

/** An archive that is open. Queries are text as in `GET /rollouts`. */
export interface Archive {
  list(query: ArchiveQuery): RolloutPage;
  facets(query: string): RolloutFacets;
  detail(id: string): RolloutDetail | undefined;
  /** The episode as `openenv collect` writes it. `number`: of the episode in its file. */
  record(id: string, number: number): EpisodeRecord | undefined;
  ids(query: string): string[];
  /** The preference pairs whose chosen episode matches, the oldest first. */
  pairs(query: string): Iterable<PreferredEpisode>;
  /** Returns the number of those that were there. */
  remove(ids: readonly string[]): number;
  add(records: readonly EpisodeRecord[]): void;
  close(): void;
}

/** Two episodes that begin with as many equal messages of a chat as `shared` says. */
export interface PreferredEpisode {
  chosen: EpisodeRecord;
  rejected: EpisodeRecord;
  shared: number;
}

export interface ArchiveQuery {
  q: string;
  by: "episode" | "group" | "failure";
  /** A column, with `-` before it for the greatest first. */
  sort?: string | undefined;
  limit: number;
  /** `next` of the page before. */
  after?: string | undefined;
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

/** @throws ConfigError that names `use` when the part is missing. */
function load(use: string): Promise<RolloutsPart> {
  return loadPart<RolloutsPart>("rollouts", () => import("#parts/rollouts" as string), use);
}

/** @throws ConfigError when the store cannot be used, or the part is missing. */
export const openArchive: OpenArchive = async (...given) => (await load("openenv rollouts")).openArchive(...given);

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
  const { createRollouts } = await load("OPENENV_STORE");
  const maxAge = storeMaxAge === undefined ? undefined : storeMaxAge * DAY_MS;
  const plugin = createRollouts({
    folder,
    contents: storeContents === "on",
    limits: { maxAge, maxEpisodes, maxBytes },
  });
  return { ...settings, plugins: checkPlugins([...settings.plugins, plugin]) };
}
