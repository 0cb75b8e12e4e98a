import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

/** The echo environment of the benchmarks. */
export const echo = () =>
  defineEnvironment(
    defineContract({
      name: "echo_env",
      action: z.object({ message: z.string() }),
      observation: z.object({ echoed_message: z.string(), message_length: z.int().min(0) }),
    }),
    () => ({
      reset: () => ({ observation: { echoed_message: "", message_length: 0 }, reward: 0 }),
      step: ({ message }) => ({
        observation: { echoed_message: message, message_length: message.length },
        reward: message.length * 0.1,
      }),
    }),
  );
