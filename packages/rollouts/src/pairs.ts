import type { EpisodeRecord } from "#core/protocol/episode.js";
import { countShared } from "#core/protocol/preference-pair.js";
import type { RolloutDetail } from "#core/protocol/rollouts.js";
import { toRecord } from "./store/record.js";

/** Undefined if one episode can be preferred to the other, else why not. */
export function refusePair(chosen: RolloutDetail, rejected: RolloutDetail): string | undefined {
  try {
    countShared(readWhole(chosen), readWhole(rejected));
    return undefined;
  } catch (error) {
    return `The episodes cannot be a preference pair: ${(error as Error).message}.`;
  }
}

function readWhole(detail: RolloutDetail): EpisodeRecord {
  const { id } = detail.episode;
  if (!detail.complete) throw new Error(`"${id}" runs, or a part of it was not recorded`);
  if (detail.events.some(({ request }) => request === null)) throw new Error("the store does not keep contents");
  return toRecord(detail, 0);
}
