/** An environment that writes each call to a file of its process: what was executed is known without asking a server. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const UNLUCKY = 13;
const FILE = join(process.env.COUNTED_CALLS ?? ".", `${process.pid}.calls`);

const counted = defineContract({
  name: "counted_env",
  reset: z.object({ player: z.string(), turn: z.int() }),
  action: z.object({ turn: z.int(), amount: z.int(), wait_ms: z.int() }),
  observation: z.object({ sum: z.int(), turn: z.int() }),
});

export default defineEnvironment(counted, () => {
  let player = "";
  let sum = 0;
  const count = (turn) => appendFileSync(FILE, `${player} ${turn}\n`);
  return {
    reset: (options) => {
      player = options.player;
      sum = 0;
      count(options.turn);
      return { observation: { sum, turn: options.turn } };
    },
    step: async ({ turn, amount, wait_ms }) => {
      count(turn);
      if (wait_ms > 0) await sleep(wait_ms);
      if (amount === UNLUCKY) throw new Error(`unlucky amount in turn ${turn}`);
      sum += amount;
      return { observation: { sum, turn }, reward: amount, done: false };
    },
    snapshot: () => ({ player, sum }),
    restore: (snapshot) => {
      ({ player, sum } = snapshot);
    },
  };
});
