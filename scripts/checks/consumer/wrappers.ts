import { defineContract, defineEnvironment } from "openenv-ts";
import {
  clipReward,
  filterObservation,
  historyObservation,
  recordedModel,
  simulateFaults,
  timeLimit,
  transformObservation,
  transformReward,
  Wrapper,
  wrapEnvironment,
} from "openenv-ts/wrappers";
import * as z from "zod";

const contract = defineContract({
  name: "any",
  action: z.object({ a: z.int() }),
  observation: z.object({ b: z.int(), c: z.int() }),
});
const result = () => ({ observation: { b: 1, c: 1 } });
const environment = defineEnvironment(contract, () => ({ reset: result, step: result }));
export class Same extends Wrapper<typeof contract> {}
export const own = wrapEnvironment(environment, (env) => new Same(env));
export const limited = transformReward(clipReward(timeLimit(environment, { maxSteps: 1 }), 0, 1), (reward) => reward);
export const filtered = filterObservation(environment, ["b"]);
export const history = historyObservation(filtered, 1);
export const other = transformObservation(environment, ({ b }) => ({ d: b }), z.object({ d: z.int() }));
export const faulty = simulateFaults(environment, { failureRate: 1 });
export const model = recordedModel(new Map());
