import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Manner = "passes" | "refuses" | "answers 503" | "answers 401" | "is silent";

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** The sockets that arrived while it was silent; they are passed on later. */
  readonly held: ReadonlySet<Socket>;
  /** How many connections have arrived. */
  readonly connections: number;
  /** Changes its behaviour, and its server if one is given. */
  turn(manner: Manner, target?: { url: string }): void;
  /** Breaks every connection that is open. */
  cut(): void;
}

/** A proxy with a fixed address whose server and behaviour can change. */
export async function startGateway(first: { url: string }, begins: Manner): Promise<Gateway> {
  let [target, manner] = [first, begins];
  const held = new Set<Socket>();
  const all = new Set<Socket>();
  const pass = (socket: Socket): void => {
    const onward = connect(Number(new URL(target.url).port), "127.0.0.1");
    all.add(onward);
    socket.pipe(onward).pipe(socket);
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  };
  let connections = 0;
  const gateway = createServer((socket) => {
    connections++;
    all.add(socket);
    socket.on("error", () => {});
    if (manner === "passes") pass(socket);
    else if (manner === "is silent") held.add(socket);
    else if (manner === "refuses") socket.once("data", () => socket.destroy());
    else socket.once("data", () => socket.end(`HTTP/1.1 ${manner.slice(-3)} No\r\ncontent-length: 0\r\n\r\n`));
  });
  await once(gateway.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
    held,
    get connections() {
      return connections;
    },
    turn(next, to = target) {
      [target, manner] = [to, next];
      if (next !== "passes") return;
      for (const socket of held) pass(socket);
      held.clear();
    },
    cut() {
      for (const socket of all) socket.destroy();
      all.clear();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => gateway.close(resolve));
    },
  };
}
