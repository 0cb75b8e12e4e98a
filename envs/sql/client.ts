import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { sqlContract } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { sqlContract as contract } from "./models.js";

export type SqlAction = ActionInput<typeof sqlContract>;
export type SqlObservation = Observation<typeof sqlContract>;

/** One session of the environment. */
export type SqlEnv = EnvClient<typeof sqlContract>;

export const SqlEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await SqlEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<SqlEnv> => connect(url, sqlContract, options),
};
