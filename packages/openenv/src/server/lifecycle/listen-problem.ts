/** Describes why a server cannot listen, and what to do. */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use: set PORT or --port to another port, or stop the process that uses it.`;
  if (error.code === "EACCES") return `Permission denied for port ${port}: set PORT or --port to 1024 or higher.`;
  if (error.code === "ENOTFOUND" || error.code === "EADDRNOTAVAIL") {
    return `HOST "${host}" is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all interfaces.`;
  }
  return `Cannot listen on ${host}:${port}: ${error.message}`;
}
