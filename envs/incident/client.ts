import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { incident } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { incident as contract } from "./models.js";

export type IncidentAction = ActionInput<typeof incident>;
export type IncidentObservation = Observation<typeof incident>;

/** One session of the environment. */
export type IncidentEnv = EnvClient<typeof incident>;

export const IncidentEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await IncidentEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<IncidentEnv> => connect(url, incident, options),
};
