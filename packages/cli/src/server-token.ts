/** The token that commands send to a server, from `OPENENV_TOKEN`; undefined when it is not set. */
export function serverToken(): string | undefined {
  return process.env["OPENENV_TOKEN"]?.trim() || undefined;
}
