/** Connections that may wait to be accepted: bursts of thousands are the ordinary case. The kernel caps it. */
export const LISTEN_BACKLOG = 65_535;

/** What keeps a server from listening, and what to do about it. */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use: set PORT or --port to another, or stop what uses it.`;
  if (error.code === "EACCES") return `Port ${port} needs more rights: set PORT or --port to one from 1024 on.`;
  if (error.code === "ENOTFOUND" || error.code === "EADDRNOTAVAIL") {
    return `HOST "${host}" is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all.`;
  }
  return `Cannot listen on ${host}:${port}: ${error.message}`;
}
