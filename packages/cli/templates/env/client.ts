import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { contract } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { contract } from "./models.js";

export type CounterGameAction = ActionInput<typeof contract>;
export type CounterGameObservation = Observation<typeof contract>;

/** One session of the environment. */
export type CounterGameEnv = EnvClient<typeof contract>;

export const CounterGameEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await CounterGameEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<CounterGameEnv> => connect(url, contract, options),
};
