import type { ActionInput, Observation } from "openenv-ts";
import { type ConnectOptions, connect, type EnvClient } from "openenv-ts/client";
import { wordle } from "./models.js";

export { ConnectionError, RemoteError } from "openenv-ts/client";
export { wordle as contract } from "./models.js";

export type WordleAction = ActionInput<typeof wordle>;
export type WordleObservation = Observation<typeof wordle>;

/** One session of the environment. */
export type WordleEnv = EnvClient<typeof wordle>;

export const WordleEnv = {
  /**
   * Opens a session on a server.
   * @example
   * await using env = await WordleEnv.connect("http://localhost:8000");
   * await env.reset({ seed: 7 });
   */
  connect: (url: string | URL, options?: ConnectOptions): Promise<WordleEnv> => connect(url, wordle, options),
};
