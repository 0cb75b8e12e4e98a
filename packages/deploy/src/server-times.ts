/**
 * Environment variables of a server. Whatever runs the server (a container engine, systemd) must respect their times.
 */
type Variables = Readonly<Record<string, string | undefined>>;

/** Time in which a server replaces a worker. */
const REPLACE_SECONDS = 30;
/** Time between the last close frame and the exit of the process. */
const EXIT_SECONDS = 2;
/** Values for the images of `openenv init`: they fit within the ten seconds of `docker stop`. */
export const IMAGE_STOP_VARIABLES = { SHUTDOWN_DRAIN: "7", SHUTDOWN_GRACE: "1" } as const;

/**
 * The number of consecutive failed checks of `/livez` after which to restart a server. `interval` times this number is
 * longer than `WORKER_TIMEOUT` and `STEP_TIMEOUT` plus the start of a new worker, so that these cheaper limits act
 * first.
 */
export function countSilentChecks(interval: number, variables: Variables): number {
  const longest = Math.max(read(variables, "WORKER_TIMEOUT", 30), read(variables, "STEP_TIMEOUT", 0));
  return Math.ceil((longest + REPLACE_SECONDS) / interval);
}

/** Seconds between the stop signal and killing a server, enough for an orderly shutdown of its sessions. */
export function stopSeconds(variables: Variables): number {
  return Math.ceil(read(variables, "SHUTDOWN_DRAIN", 0) + read(variables, "SHUTDOWN_GRACE", 8) + EXIT_SECONDS);
}

/** Invalid values fall back to the default: a server does not start with them anyway. */
function read(variables: Variables, name: string, fallback: number): number {
  const given = variables[name]?.trim();
  const value = given ? Number(given) : fallback;
  return Number.isFinite(value) && value >= 0 ? value : fallback;
}
