import { defineContract, defineEnvironment, defineTools, type StandardSchema } from "openenv-ts";

declare const input: StandardSchema<{ a: number }, { a: number }>;
declare const output: StandardSchema<number, number>;
declare const action: StandardSchema<{ amount: number; note?: string }, { amount: number; note: string }>;
declare const observation: StandardSchema<{ count?: number }, { count?: number }>;

export const tools = defineTools({ add: { description: "Adds.", input, output } });
export const contract = defineContract({ name: "foreign_env", action, observation, tools });
export default defineEnvironment(contract, () => ({
  reset: () => ({ observation: {} }),
  step: ({ amount, note }) => ({ observation: { count: amount + note.length } }),
  tools: { add: ({ a }) => a },
}));
