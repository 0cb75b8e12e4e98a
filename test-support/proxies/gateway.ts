import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Manner = "passes" | "passes twice" | "refuses" | "answers 503" | "answers 401" | "is silent";

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
  /** Breaks every open connection in place of the next data of the server. */
  cutAtAnswer(): void;
  /** Breaks every open connection for the client; the server does not learn of it. */
  strand(): void;
}

/** How much later than its copy a connection that passes twice sends. */
const LATER_MS = 100;

/** A proxy with a fixed address whose server and behaviour can change. */
export async function startGateway(first: { url: string }, begins: Manner): Promise<Gateway> {
  let [target, manner] = [first, begins];
  const held = new Set<Socket>();
  const all = new Set<Socket>();
  /** The open connections of clients, each with the one to the server. */
  const links = new Map<Socket, Socket>();
  const open = (): Socket => {
    const onward = connect(Number(new URL(target.url).port), "127.0.0.1");
    all.add(onward);
    return onward;
  };
  /** What the client sends arrives on another connection first; its handshake on both at once. */
  const copy = (socket: Socket, onward: Socket): void => {
    const first = open()
      .on("error", () => {})
      .resume();
    let isHandshake = true;
    socket.on("data", (chunk) => {
      first.write(chunk);
      setTimeout(() => onward.write(chunk), isHandshake ? 0 : LATER_MS);
      isHandshake = false;
    });
  };
  const pass = (socket: Socket): void => {
    const onward = open();
    links.set(socket, onward);
    if (manner === "passes twice") copy(socket, onward);
    else socket.pipe(onward);
    onward.pipe(socket);
    onward.on("error", () => socket.destroy());
    onward.on("close", () => socket.destroy());
    socket.on("close", () => links.delete(socket) && onward.destroy());
  };
  let connections = 0;
  const gateway = createServer((socket) => {
    connections++;
    all.add(socket);
    socket.on("error", () => {});
    if (manner.startsWith("passes")) pass(socket);
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
    cutAtAnswer() {
      for (const [socket, onward] of links) {
        onward.unpipe(socket);
        onward.once("data", () => socket.destroy()).resume();
      }
    },
    strand() {
      for (const [socket, onward] of links) {
        links.delete(socket);
        socket.unpipe(onward);
        onward.unpipe(socket);
        onward.resume();
        socket.destroy();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => gateway.close(resolve));
    },
  };
}
