import { expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment } from "../../index.js";

const { start, open } = useServers();

const PEERS = 30;
const FRAMES = 200;
/** So that a slice of a millisecond takes a few frames, and nobody is done in one. */
const STEP_MS = 0.2;

const contract = defineContract({
  name: "turns_env",
  action: z.object({}),
  reset: z.object({ peer: z.int() }),
  observation: z.object({}),
});

test("between two turns of a peer with waiting frames, each of 30 others has one at most", async () => {
  /** The peer of each step, in the order they ran. */
  const ran: number[] = [];
  const environment = defineEnvironment(contract, () => {
    let peer = -1;
    return {
      reset: (given) => {
        ({ peer } = given);
        return { observation: {} };
      },
      step: () => {
        const end = performance.now() + STEP_MS;
        while (performance.now() < end);
        ran.push(peer);
        return { observation: {} };
      },
    };
  });
  const server = await start({ maxConcurrentEnvs: PEERS + 1 }, { environment });
  const sockets = [];
  for (let peer = 0; peer <= PEERS; peer++) {
    const socket = await open(server);
    await socket.ask({ type: "reset", data: { peer } });
    sockets.push(socket);
  }
  for (const socket of sockets) socket.send(...(Array<object>(FRAMES).fill({ type: "step", data: {} }) as []));
  for (const socket of sockets) for (let i = 0; i < FRAMES; i++) await socket.receive();

  expect(ran).toHaveLength((PEERS + 1) * FRAMES);
  // While all have frames that wait: since the last has begun, until the first is done.
  const begun = Math.max(...sockets.map((_, peer) => ran.indexOf(peer)));
  const done = Math.min(...sockets.map((_, peer) => ran.lastIndexOf(peer)));
  const turns = ran.slice(begun, done).filter((peer, i, all) => peer !== all[i - 1]);
  expect(turns.length).toBeGreaterThan(5 * PEERS);
  const lastTurn = new Map<number, number>();
  for (const [at, peer] of turns.entries()) {
    const between = turns.slice((lastTurn.get(peer) ?? at) + 1, at);
    expect(new Set(between).size).toBe(between.length);
    lastTurn.set(peer, at);
  }
  // Nobody is left out either.
  expect(lastTurn.size).toBe(PEERS + 1);
});
