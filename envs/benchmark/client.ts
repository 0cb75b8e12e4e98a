import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { benchmark } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { benchmark as contract } from "./models.js";

export type BenchmarkAction = ActionInput<typeof benchmark>;
export type BenchmarkObservation = Observation<typeof benchmark>;

/** One session of the environment. */
export type BenchmarkEnv = EnvClient<typeof benchmark>;

export const BenchmarkEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await BenchmarkEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<BenchmarkEnv> => connect(url, benchmark, options),
};
