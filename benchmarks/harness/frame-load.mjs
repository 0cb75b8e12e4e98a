import { once } from "node:events";
import { WebSocket } from "ws";
import { measureLoad } from "./rate.mjs";

/**
 * Sockets that each send one frame repeatedly, each time after the last response. `hello` are text frames that are sent
 * first, to confirm the extensions and open sessions. `frame` may be a function of the number of the request, from 1.
 * `check` returns the problem of the first response to `frame`; every later response must be identical but for the number.
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
      ws.send(frameOf(frame, 1));
      const [accepted] = await once(ws, "message");
      const problem = check(accepted);
      if (problem) throw new Error(problem);
      return { ws, accepted: withoutNumber(accepted), sent: 1 };
    }),
  );
  return {
    /** Sends for this many seconds and waits for the last responses; `done` is the number of frames. */
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

/** Frames per CPU-second of the server. */
export function measureFrames(bench, { subject, server, warmUp, seconds, ...frames }) {
  return measureLoad(bench, {
    ...{ subject, server, warmUp, length: seconds },
    open: () => createFrameLoad({ url: server.url, ...frames }),
    work: (load, time) => load.ask(time),
  });
}

function ask(peers, frame, seconds) {
  return new Promise((resolve, reject) => {
    const until = performance.now() + seconds * 1000;
    let done = 0;
    let busy = peers.length;
    for (const peer of peers) {
      const { ws, accepted } = peer;
      const send = () => ws.send(frameOf(frame, ++peer.sent));
      const onMessage = (answer) => {
        if (!accepted.equals(withoutNumber(answer)))
          return reject(new Error(`another response: ${answer.toString("latin1", 0, 200)}`));
        done++;
        if (performance.now() < until) return send();
        ws.off("message", onMessage);
        ws.off("close", onClose);
        if (--busy === 0) resolve({ done });
      };
      const onClose = () => reject(new Error("the server closed a socket"));
      ws.on("message", onMessage);
      ws.once("close", onClose);
      send();
    }
  });
}

function frameOf(frame, nth) {
  return typeof frame === "function" ? frame(nth) : frame;
}

/** An answer without the numbers of its event and its request, which are last in it. */
function withoutNumber(answer) {
  const ends = [',"event":', ',"seq":'].map((name) => answer.lastIndexOf(name)).filter((at) => at >= 0);
  return answer.subarray(0, Math.min(answer.length, ...ends));
}
