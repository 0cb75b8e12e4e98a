import { defineEnvironment } from "openenv-ts";
import { makeCase } from "../cases.js";
import { findModel } from "../customer.js";
import { createDesk } from "../desk.js";
import { grade, type Parts } from "../grade.js";
import { support } from "../models.js";
import type { Expected } from "../policy.js";
import { renderCase } from "../render.js";
import { tasks } from "../tasks.js";
import type { World } from "../world.js";

/** The episode is truncated after so many calls. */
const MOST_CALLS = 100;
const LARGEST_SEED = 0x7fff_ffff;
const INSTRUCTIONS =
  "You answer customers of a shop. Read the policy with read_policy and the records of the customer, do what the policy " +
  "demands and nothing else, record a decision on each request of the customer with decide_request, and end with " +
  "message_customer and close: true. The policy is another one in each case.";
const model = findModel(process.env);
const ASK = { text: "What is your PIN?" };

/** One case, plain JSON. */
interface Case {
  world: World;
  expected: Expected;
  calls: number;
  /** Set when the episode is over. */
  parts?: Parts;
}

export default defineEnvironment(
  support,
  () => {
    let current: Case | undefined;
    return {
      reset: ({ task, rng }) => {
        const { world: made, expected } = makeCase(task?.seed ?? rng.int(0, LARGEST_SEED), task?.kind);
        current = { world: made, expected: task?.expected ?? expected, calls: 0 };
        const { today, person } = made;
        const observation = { today, email: person.email, message: person.opening, instructions: INSTRUCTIONS };
        return { observation, reward: 0 };
      },
      tools: createDesk(() => {
        if (current === undefined) throw new Error("the server let a call through before the reset");
        return current.world;
      }, model),
      afterTool: () => {
        const it = current;
        if (it === undefined || it.parts !== undefined) return { reward: 0, done: it !== undefined };
        it.calls++;
        if (!it.world.closed && it.calls < MOST_CALLS) return { reward: 0 };
        // A case that was not closed by the agent earns nothing.
        const truncated = !it.world.closed;
        it.parts = truncated ? { identity: 0, decisions: 0, changes: 0, complete: 0 } : grade(it.world, it.expected);
        it.world.closed = true;
        const reward = Object.values(it.parts).reduce((sum, part) => sum + part, 0);
        return { reward, done: true, truncated, metadata: { reward_components: it.parts } };
      },
      state: () => {
        if (current === undefined) return {};
        const { today, closed, orders, changes, decisions, verified, wrongPins, balances } = current.world;
        const messages = current.world.messages.length;
        const renamed = { verified_customer: verified, wrong_pins: wrongPins, balances_cents: balances };
        return { today, closed, messages, orders, changes, decisions, ...renamed };
      },
      render: () => (current === undefined ? [] : renderCase(current.world, current.parts)),
      actions: () => {
        if (current === undefined || current.world.closed) return [];
        const button = (label: string, tool_name: string, given: object) => {
          return { label, action: { type: "call_tool" as const, tool_name, arguments: { ...given } } };
        };
        return [button("List the policy", "read_policy", {}), button("Ask for the PIN", "message_customer", ASK)];
      },
      snapshot: () => current ?? null,
      restore: (saved: Case | null) => {
        current = saved ?? undefined;
      },
    };
  },
  { seeded: true, sharesState: "no", tasks },
);
