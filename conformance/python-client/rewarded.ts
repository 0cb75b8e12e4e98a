import {
  type Action,
  createTasks,
  defineContract,
  defineEnvironment,
  ExponentialDiscounting,
  Gate,
  parseJsonl,
  Rubric,
  Sequential,
  type TrajectoryStep,
  WeightedSum,
} from "openenv-ts";
import * as z from "zod";

const contract = defineContract({
  name: "rewarded",
  action: z.object({ answer: z.int() }),
  observation: z.object({ question: z.string(), right: z.boolean() }),
});
interface Seen {
  right: boolean;
}

class Honest extends Rubric<Action<typeof contract>, Seen> {
  override forward({ answer }: Action<typeof contract>) {
    if (answer === 13) throw new TypeError("unlucky");
    return answer < 0 ? 0 : 1;
  }
}
class Right extends Rubric<unknown, Seen> {
  override async forward(_action: unknown, { right }: Seen) {
    return right ? 1 : 0;
  }
}
class Share extends ExponentialDiscounting<unknown, Seen> {
  override scoreTrajectory(trajectory: readonly TrajectoryStep<unknown, Seen>[]) {
    return trajectory.filter(({ observation }) => observation.right).length / trajectory.length;
  }
}

/** Addition tasks, scored by a rubric with sync, async and trajectory parts. */
export default defineEnvironment(
  contract,
  () => {
    let expected = 0;
    let steps = 0;
    return {
      rubric: new Sequential(
        new Gate(new Honest()),
        new WeightedSum({ right: new Right(), share: new Share() }, { right: 0.5, share: 0.5 }),
      ),
      reset: ({ task }) => {
        expected = Number(task?.["answer"] ?? 0);
        steps = 0;
        return { observation: { question: String(task?.["question"] ?? ""), right: false } };
      },
      step: ({ answer }) => ({ observation: { question: "", right: answer === expected }, done: ++steps === 4 }),
    };
  },
  {
    rubricScores: true,
    tasks: createTasks({
      train: parseJsonl('{"question": "1 + 1", "answer": 2}\n{"question": "2 + 3", "answer": 5}'),
      test: [{ question: "5 + 5", answer: 10 }],
    }),
  },
);
