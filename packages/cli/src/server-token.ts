/** The token that commands send to a server: `OPENENV_TOKEN`, or undefined when it is not set. */
export function serverToken(): string | undefined {
  return readToken("OPENENV_TOKEN");
}

/** The token of a resumable session: `OPENENV_SESSION_TOKEN`, or undefined when it is not set. */
export function sessionToken(): string | undefined {
  return readToken("OPENENV_SESSION_TOKEN");
}

function readToken(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}
