/** `http://host:port`, with an IPv6 address in its brackets. */
export function httpUrl(host: string, port: number | string): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Where a client on this machine reaches a server that listens there. */
export function serverUrl(host: string, port: number): string {
  return httpUrl(host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host, port);
}
