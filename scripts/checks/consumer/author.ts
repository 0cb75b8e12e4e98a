/** Uses the root entry; `package.mjs` compiles each file of this folder by itself, with declarations. */
import {
  bytes,
  createTasks,
  datetime,
  defineContract,
  defineEnvironment,
  defineTools,
  ERRORS,
  image,
  LLMJudge,
  parseJsonl,
  Rubric,
  RubricDict,
  RubricList,
  Sequential,
  TrajectoryRubric,
  WeightedSum,
} from "openenv-ts";
import * as z from "zod";

export const tools = defineTools({
  search: { description: "Searches.", input: z.object({ query: z.string() }), output: z.string() },
  hint: { description: "Helps." },
});
export const mixed = defineContract({
  name: "mixed_env",
  action: z.object({ raw: bytes(), at: datetime(), picture: image() }),
  observation: z.object({ count: z.int() }),
  reset: z.object({ level: z.string() }),
  state: z.object({ total: z.int() }),
  tools,
});
export const schemas = mixed.schemas();
export const fingerprint = await mixed.fingerprint();
export const toolsOnly = defineContract({ name: "tools_env", tools });
export const handlers = { search: ({ query }: { query: string }) => query, hint: () => null };
export const toolEnvironment = defineEnvironment(toolsOnly, () => ({
  reset: () => ({ observation: {} }),
  tools: handlers,
}));
export default defineEnvironment(mixed, () => ({
  reset: () => ({ observation: { count: 0 } }),
  step: () => ({ observation: { count: 1 }, reward: 1, done: true }),
  state: () => ({ total: 1 }),
  tools: handlers,
}));

export class Length extends Rubric<string, string> {
  forward = (_: string, observation: string) => observation.length;
}
export class Last extends TrajectoryRubric<string, string> {
  scoreTrajectory = () => 1;
  override computeStepRewards = () => [1];
}
export const judge = new LLMJudge({ url: "http://localhost:1/v1", model: "any", prompt: "{observation}" });
export const rubrics = [new RubricDict({ judge }), new RubricList([judge]), new WeightedSum([judge], [1])];
export const sequence = new Sequential(judge);
export const names = sequence.namedRubrics();
export const saved = sequence.stateDict();
export const score = sequence.score;
export const trajectory = new Last().trajectory;
export const tasks = createTasks({ train: parseJsonl("") });
export const typedTasks = createTasks(z.object({ question: z.string() }), { train: parseJsonl("") });
export const errors = ERRORS;
