import type { Contract } from "openenv-ts";
import { sampleValue } from "openenv-ts/internal";
import { describeDifference } from "./episode.js";
import type { OpenSession } from "./open-session.js";

const SEEDS = [7, 8];
const STEPS = 3;

/** Plays the same episodes in two sessions. Returns their first difference, or undefined if seeds decide the answers. */
export async function checkSeeds(open: () => Promise<OpenSession>, contract: Contract): Promise<string | undefined> {
  const first = await play(await open(), contract);
  const again = await play(await open(), contract);
  return describeDifference(first, again);
}

async function play({ socket, place }: OpenSession, contract: Contract): Promise<unknown[]> {
  const step = JSON.stringify({ type: "step", data: sampleValue(contract.schemas().action) });
  const answers: unknown[] = [];
  try {
    for (const seed of SEEDS) {
      answers.push(JSON.parse(await socket.ask(JSON.stringify({ type: "reset", data: { seed } }))));
      for (let nth = 0; nth < STEPS; nth++) answers.push(JSON.parse(await socket.ask(step)));
    }
    return answers;
  } finally {
    await socket.close();
    place[Symbol.dispose]();
  }
}
