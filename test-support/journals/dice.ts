import { createHash } from "node:crypto";
import { openTestSocket } from "../sockets/socket.js";

/** A seeded environment that also uses the clock, an effect outside, and a tool; `amount` is what a roll adds. */
export function diceModule(amount = "rng.int(1, 6)", { saves = false } = {}): string {
  return `
    import { appendFileSync } from "node:fs";
    import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
    import * as z from "zod";
    const contract = defineContract({
      name: "dice_env",
      action: z.object({ fail: z.boolean().default(false) }),
      observation: z.object({ total: z.int(), at: z.number(), luck: z.number(), seed: z.int().nullable() }),
      tools: defineTools({ peek: { description: "The total.", input: z.object({ plus: z.int() }), output: z.int() } }),
    });
    export default defineEnvironment(
      contract,
      () => {
        let total = 0;
        const look = async ({ now, record }, seed = null) => {
          const luck = await record("luck", () => {
            appendFileSync("effects", "x");
            return Math.random();
          });
          return { observation: { total, at: now(), luck, seed } };
        };
        return {
          reset: (request) => {
            total = 0;
            return look(request, request.seed);
          },
          step: async ({ fail }, context) => {
            if (fail) throw new Error("the die fell off the table");
            total += ${amount.replace("rng", "context.rng")};
            return { ...(await look(context)), reward: total, done: total > 20 };
          },
          tools: { peek: ({ plus }) => total + plus },
          ${saves ? "snapshot: () => total, restore: (saved) => void (total = saved)," : ""}
        };
      },
      { seeded: true },
    );
  `;
}

export const DICE_TOKEN = "a-token-of-the-client";

/** Plays events 1 and 2 in an earlier episode, and 3 to 7: reset, step, failed step, tool call, step. */
export async function playDice(url: string) {
  const socket = await openTestSocket(`${url}/ws?openenv=resume`);
  const token_hash = createHash("sha256").update(DICE_TOKEN).digest("hex");
  const { data } = await socket.ask({ type: "resume", data: { token_hash } });
  const call = { jsonrpc: "2.0", method: "tools/call", id: 1 };
  const requests = [
    { type: "reset", data: { seed: 1 } },
    { type: "step", data: {} },
    { type: "reset", data: {} },
    { type: "step", data: {} },
    { type: "step", data: { fail: true } },
    { type: "mcp", data: { ...call, params: { name: "peek", arguments: { plus: 1 } } } },
    { type: "step", data: { fail: "neither" } },
    { type: "state" },
    { type: "step", data: { metadata: { turn: 4 } } },
  ];
  for (const [index, request] of requests.entries()) await socket.ask({ ...request, seq: index + 1, ack: index });
  return { socket, id: (data as { session_id: string }).session_id };
}
