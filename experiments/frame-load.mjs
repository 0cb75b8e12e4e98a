import { once } from "node:events";
import { WebSocket } from "ws";

/**
 * Sockets that each send one frame over and over, a new one as soon as the last is answered. `hello` is sent first, as
 * text: frames whose answers confirm the extensions and open what is needed. `check` says what is wrong with the first
 * answer to `frame`; every other one must be equal to it, byte by byte.
 */
export async function createFrameLoad({ url, extensions, connections, hello, frame, check }) {
  const peers = await Promise.all(
    Array.from({ length: connections }, async () => {
      const ws = new WebSocket(`${url.replace(/^http/, "ws")}/ws?openenv=${extensions}`, { perMessageDeflate: false });
      await once(ws, "open");
      for (const text of hello) {
        ws.send(text);
        await once(ws, "message");
      }
      ws.send(frame);
      const [accepted] = await once(ws, "message");
      const problem = check(accepted);
      if (problem) throw new Error(problem);
      return { ws, accepted };
    }),
  );
  return {
    /** Asks for this many seconds and waits for the last answers; `done` are frames. */
    ask: (seconds) => ask(peers, frame, seconds),
    async close() {
      await Promise.all(
        peers.map(async ({ ws }) => {
          ws.close();
          await once(ws, "close");
        }),
      );
    },
  };
}

function ask(peers, frame, seconds) {
  return new Promise((resolve, reject) => {
    const until = performance.now() + seconds * 1000;
    let done = 0;
    let busy = peers.length;
    for (const { ws, accepted } of peers) {
      const onMessage = (answer) => {
        if (!accepted.equals(answer)) return reject(new Error(`another answer: ${answer.toString("latin1", 0, 200)}`));
        done++;
        if (performance.now() < until) return ws.send(frame);
        ws.off("message", onMessage);
        if (--busy === 0) resolve({ done });
      };
      ws.on("message", onMessage);
      ws.once("close", () => reject(new Error("the server closed a socket")));
      ws.send(frame);
    }
  });
}
