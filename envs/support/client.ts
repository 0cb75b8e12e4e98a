import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { support } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { support as contract } from "./models.js";

export type SupportAction = ActionInput<typeof support>;
export type SupportObservation = Observation<typeof support>;

/** One session of the environment. */
export type SupportEnv = EnvClient<typeof support>;

export const SupportEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await SupportEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<SupportEnv> => connect(url, support, options),
};
