import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { coding } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { coding as contract } from "./models.js";

export type CodingAction = ActionInput<typeof coding>;
export type CodingObservation = Observation<typeof coding>;

/** One session of the environment. */
export type CodingEnv = EnvClient<typeof coding>;

export const CodingEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await CodingEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<CodingEnv> => connect(url, coding, options),
};
