/** Compiled by the type check, never run: the types that a user of openenv-ts/server names. */
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { type ConcurrencyConfig, type ServerCapacityStatus, type SessionInfo, serve } from "./index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function typesOfAServer(): Promise<void> {
  const limits: ConcurrencyConfig = { maxConcurrentEnvs: 4, sessionTimeout: null };
  const server = await serve(defineCounter().environment, { ...limits, port: 0 });
  // @ts-expect-error: whole, both fields are there
  const half: ConcurrencyConfig = { maxConcurrentEnvs: 4 };
  // @ts-expect-error: a number of sessions
  await serve(defineCounter().environment, { ...half, maxConcurrentEnvs: "4" });

  const capacity = server.capacity();
  same<typeof capacity, ServerCapacityStatus>(true);
  same<ServerCapacityStatus["is_at_capacity"], boolean>(true);
  same<ServerCapacityStatus["available_slots"], number>(true);

  const sessions = await server.sessions();
  same<typeof sessions, SessionInfo[]>(true);
  same<SessionInfo["session_id"], string>(true);
  same<SessionInfo["episode_id"], string | null>(true);
  // @ts-expect-error: the wire's names
  sessions[0]?.sessionId;
}
