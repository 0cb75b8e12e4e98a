import type { EpisodeRecord } from "#core/protocol/episode.js";
import { messagesOf } from "#core/protocol/episode-line.js";
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

/**
 * The number of messages that both episodes begin with; then each has an action of its own.
 * @throws Error that says why their actions cannot be compared.
 */
export function countShared(chosen: EpisodeRecord, rejected: EpisodeRecord): number {
  if (chosen.environment !== rejected.environment) throw new Error("they are of different environments");
  const [ours, others] = [messagesOf(chosen), messagesOf(rejected)];
  const shared = ours.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(others[at]));
  const message = ours[shared];
  if (shared === 0) throw new Error("their first observations differ");
  if (message === undefined || others[shared] === undefined)
    throw new Error("one episode is equal to the other, or to its beginning");
  if (message.role !== "assistant") {
    throw new Error(`their answers differ before their actions do: those of step ${shared / 2} are not equal`);
  }
  return shared;
}

function readWhole(detail: RolloutDetail): EpisodeRecord {
  const { id } = detail.episode;
  if (!detail.complete) throw new Error(`"${id}" runs, or a part of it was not recorded`);
  if (detail.events.some(({ request }) => request === null)) throw new Error("the store does not keep contents");
  return toRecord(detail, 0);
}
