import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Cluster } from "./cluster.js";

/** A port of this machine that leads to that of a Pod. */
export interface Forwarder {
  readonly port: number;
  close(): Promise<void>;
}

export async function createForwarder(cluster: Cluster, pod: string, target: number): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  let isClosed = false;
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
      // Whoever chooses among several Pods then chooses another one.
      if (!server.listening) return;
      server.close();
      listenAgain();
    }
  });
  const listenAgain = (): void => {
    setTimeout(() => {
      if (!isClosed) server.listen(port, "127.0.0.1");
    }, AWAY_MS).unref();
  };
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.on("error", listenAgain);
  return {
    port,
    close: async () => {
      isClosed = true;
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** How long the port refuses after the Pod could not be reached: that may be over in a moment. */
const AWAY_MS = 500;
