/** Type tests of the entry openenv-ts/server: compiled by the type check, never run. */
import { defineCounter } from "../../../../test-support/environments/counter.js";
import {
  type ConcurrencyConfig,
  type ServeOptions,
  type ServerCapacityStatus,
  type SessionInfo,
  serve,
} from "./index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function typesOfAServer(): Promise<void> {
  const limits: ConcurrencyConfig = { maxConcurrentEnvs: 4, sessionTimeout: null };
  const server = await serve(defineCounter().environment, { ...limits, port: 0 });
  // @ts-expect-error: both fields are required
  const half: ConcurrencyConfig = { maxConcurrentEnvs: 4 };
  // @ts-expect-error: must be a number
  await serve(defineCounter().environment, { ...half, maxConcurrentEnvs: "4" });

  const capacity = server.capacity();
  same<typeof capacity, ServerCapacityStatus>(true);
  same<ServerCapacityStatus["is_at_capacity"], boolean>(true);
  same<ServerCapacityStatus["available_slots"], number>(true);

  const sessions = await server.sessions();
  same<typeof sessions, SessionInfo[]>(true);
  same<SessionInfo["session_id"], string>(true);
  same<SessionInfo["episode_id"], string | null>(true);
  // @ts-expect-error: fields have their names on the wire
  sessions[0]?.sessionId;
}

export function typesOfOptions(options: Required<ServeOptions>): void {
  same<typeof options.port, number>(true);
  same<typeof options.mode, "simulation" | "production">(true);
  same<typeof options.workers, number | "auto">(true);
  same<typeof options.sessionTimeout, number | null>(true);
  same<typeof options.webInterface, boolean | "auto">(true);
  same<typeof options.allowedOrigins, readonly string[]>(true);
  same<typeof options.module, URL | string>(true);
  same<typeof options.operatorToken, string>(true);
  // @ts-expect-error: only a variable
  options.deployment;
  // @ts-expect-error: an option that is undefined is left out
  const unset: ServeOptions = { port: undefined };
  void unset;
}
