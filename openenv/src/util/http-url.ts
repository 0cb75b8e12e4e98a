/** `http://host:port`, with an IPv6 address in its brackets. */
export function httpUrl(host: string, port: number | string): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
