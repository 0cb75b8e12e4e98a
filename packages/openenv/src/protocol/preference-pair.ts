import type { EpisodeRecord } from "./episode.js";
import { messagesOf } from "./episode-line.js";

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
    throw new Error("one of them only has actions of the other");
  if (message.role !== "assistant") {
    throw new Error(`their answers differ before their actions do: those of step ${shared / 2} are not equal`);
  }
  return shared;
}
