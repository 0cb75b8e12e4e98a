import { connect } from "node:net";

/** `http://host:port`, with an IPv6 address in brackets. */
export function httpUrl(host: string, port: number | string): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** True when a process on this machine accepts connections at that port. */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
