import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Cluster } from "./cluster.js";

/** A port of this machine that leads to that of a Pod. */
export interface Forwarder {
  readonly port: number;
  /** False once the Pod could not be reached: then it takes no more connections. */
  readonly open: boolean;
  close(): Promise<void>;
}

export async function createForwarder(cluster: Cluster, pod: string, target: number): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, async (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    try {
      const link = await cluster.forward.portForward(cluster.namespace, pod, [target], socket, null, socket);
      if (typeof link === "function") return;
      socket.resume();
      socket.once("close", () => link.close());
      link.onclose = () => socket.destroy();
    } catch {
      server.close();
      socket.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get open() {
      return server.listening;
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
