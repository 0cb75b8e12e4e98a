import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { KubernetesCluster } from "./cluster.js";

/** A port of this machine that leads to that of a Pod. */
export interface Forwarder {
  readonly port: number;
  /** True for a moment after the Pod could not be reached: whoever chooses among several then chooses another one. */
  isAway(): boolean;
  close(): Promise<void>;
}

export async function createForwarder(cluster: KubernetesCluster, pod: string, target: number): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  let awayUntil = 0;
  const server = createServer({ pauseOnConnect: true }, async (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    try {
      const link = await cluster.forward.portForward(cluster.namespace, pod, [target], socket, null, socket);
      if (typeof link === "function") return;
      if (socket.destroyed) return link.close();
      socket.resume();
      socket.once("close", () => link.close());
      link.onclose = () => socket.destroy();
    } catch {
      socket.destroy();
      awayUntil = performance.now() + AWAY_MS;
    }
  });
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    isAway: () => performance.now() < awayUntil,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The port stays ours meanwhile, or sessions would be sent to whoever takes it. */
const AWAY_MS = 500;
