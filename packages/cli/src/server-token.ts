/** The token that commands send to a server: `OPENENV_TOKEN`, or undefined when it is not set. */
export function serverToken(): string | undefined {
  return readVariable("OPENENV_TOKEN");
}

/** A token in a variable; undefined when it is not set or empty. */
export function readVariable(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}
