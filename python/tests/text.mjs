import { defineContract, defineEnvironment, SessionLostError } from "openenv-ts";
import * as z from "zod";

const text = defineContract({
  name: "text_env",
  action: z.object({ message: z.string() }),
  observation: z.object({ prompt: z.string(), truncated: z.boolean().optional() }),
});

/** Collects messages, with their lengths as rewards. "stop" ends the episode, a limit of steps too, and "lose" loses it. */
export default defineEnvironment(
  text,
  () => {
    let said = [];
    return {
      reset: ({ seed = 0 }) => {
        said = [`seed ${seed}`];
        return { observation: { prompt: said[0] } };
      },
      step: ({ message }) => {
        if (message === "lose") throw new SessionLostError("the simulator is gone");
        said.push(message);
        return { observation: { prompt: said.join(" ") }, reward: message.length, done: message === "stop" };
      },
      snapshot: () => said,
      restore: (saved) => {
        said = saved;
      },
    };
  },
  { maxSteps: Number(process.env.MAX_STEPS ?? 100) },
);
