import type { ServerView } from "openenv-ts/protocol";

/**
 * A key for each error, newest first. Equal errors are numbered from the oldest, so that a key stays when another one
 * arrives.
 */
export function errorKeys(errors: ServerView["recent_errors"]): string[] {
  const seen = new Map<string, number>();
  return errors
    .toReversed()
    .map(({ at, worker, session_id, message }) => {
      const words = `${at} ${worker} ${session_id} ${message}`;
      const number = (seen.get(words) ?? 0) + 1;
      seen.set(words, number);
      return `${number} ${words}`;
    })
    .reverse();
}
