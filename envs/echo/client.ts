import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { echo } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { echo as contract } from "./models.js";

export type EchoAction = ActionInput<typeof echo>;
export type EchoObservation = Observation<typeof echo>;

/** One session of the environment. */
export type EchoEnv = EnvClient<typeof echo>;

export const EchoEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await EchoEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<EchoEnv> => connect(url, echo, options),
};
