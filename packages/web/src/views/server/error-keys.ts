import type { ServerViewError } from "openenv-ts/protocol";

/** A key for each error, newest first. Equal ones are counted from the oldest on: its key stays when another one comes. */
export function errorKeys(errors: readonly ServerViewError[]): string[] {
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
