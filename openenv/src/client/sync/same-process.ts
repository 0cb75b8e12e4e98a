import { ConnectionError } from "../../errors.js";

/** Servers enter their ports here while they listen. */
const LISTENING = Symbol.for("openenv.listening");

/** @throws ConnectionError SYNC_SAME_PROCESS when a server of this process listens there: it could never answer. */
export function refuseSameProcess(base: string): void {
  const { hostname, port, protocol } = new URL(base);
  const ports = (globalThis as { [LISTENING]?: Set<number> })[LISTENING];
  if (!isLocal(hostname) || !ports?.has(Number(port || (protocol === "https:" ? 443 : 80)))) return;
  throw new ConnectionError(
    "SYNC_SAME_PROCESS",
    `The server at ${base} runs in this process, which a blocking call holds up: the server could never answer. ` +
      "Use connect() of openenv-ts/client, or run the server in another process.",
  );
}

function isLocal(hostname: string): boolean {
  return ["localhost", "[::1]", "[::]", "0.0.0.0"].includes(hostname) || hostname.startsWith("127.");
}
