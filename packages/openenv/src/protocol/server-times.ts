/** Times of a server that whatever runs it has to respect, in seconds, as the server's variables say. */
type Variables = Readonly<Record<string, string | undefined>>;

/** In which a server replaces a worker by itself. */
const REPLACE_SECONDS = 30;
/** Between the last close frame and the end of the process. */
const EXIT_SECONDS = 2;
/** What images of `openenv init` have, which fits the ten seconds of `docker stop`. */
export const IMAGE_STOP_VARIABLES = { SHUTDOWN_DRAIN: "7", SHUTDOWN_GRACE: "1" } as const;

/**
 * Failed checks of `/livez` in a row after which a server is to be restarted: `interval` x checks is longer than
 * `WORKER_TIMEOUT` and `STEP_TIMEOUT`, which end what hangs at a lower cost, with time to start the new worker.
 */
export function countSilentChecks(interval: number, variables: Variables): number {
  const longest = Math.max(read(variables, "WORKER_TIMEOUT", 30), read(variables, "STEP_TIMEOUT", 0));
  return Math.ceil((longest + REPLACE_SECONDS) / interval);
}

/** Seconds from the request to stop until a server may be killed: before that it closes its sessions in order. */
export function stopSeconds(variables: Variables): number {
  return Math.ceil(read(variables, "SHUTDOWN_DRAIN", 0) + read(variables, "SHUTDOWN_GRACE", 8) + EXIT_SECONDS);
}

/** A server does not start with a value that is wrong, so that it matters to nobody how long that one has. */
function read(variables: Variables, name: string, fallback: number): number {
  const given = variables[name]?.trim();
  const value = given ? Number(given) : fallback;
  return Number.isFinite(value) && value >= 0 ? value : fallback;
}
