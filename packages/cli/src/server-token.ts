/** The token that commands send to a server: `OPENENV_TOKEN`, or undefined when it is not set. */
export function serverToken(): string | undefined {
  return process.env["OPENENV_TOKEN"]?.trim() || undefined;
}
