/** Sessions that outlive their sockets, at the level of frames. */
import { createHash } from "node:crypto";
import type { RunningServer } from "../../packages/openenv/src/server/types.js";
import type { TestSocket } from "./socket.js";

type Json = Record<string, unknown>;
type Open = (server: RunningServer, path?: string) => Promise<TestSocket>;

export const TOKEN = "a-token-of-the-client";
/** The first frame of a new session. */
export const BEGIN = { type: "resume", data: { token_hash: createHash("sha256").update(TOKEN).digest("hex") } };
export const stepFrame = (amount: number, seq: number, ack = 0) => ({ type: "step", data: { amount }, seq, ack });

export const codeOf = (answer: Json) => (answer["data"] as { code: string }).code;
export const countOf = (answer: Json) => (answer["data"] as { observation: { count: number } }).observation.count;

/** A session that has been reset: seq 1 is answered. */
export async function openResumable(open: Open, server: RunningServer, reset: Json = {}) {
  const socket = await open(server, "/ws?openenv=resume");
  const { data } = (await socket.ask(BEGIN)) as { data: { session_id: string } };
  await socket.ask({ type: "reset", data: reset, seq: 1, ack: 0 });
  return { socket, id: data.session_id };
}

/** Returns to a session, and the data of the first answer. */
export async function returnTo(
  open: Open,
  server: RunningServer,
  [id, token = TOKEN]: [string, (string | undefined)?],
) {
  const socket = await open(server, `/ws?openenv=resume&session_id=${id}`);
  return [socket, (await socket.ask({ type: "resume", data: { token } }))["data"] as Json] as const;
}

/** Both for the servers of a test file. */
export function resumeWith({ open }: { open: Open }) {
  return {
    openSession: (server: RunningServer, reset?: Json) => openResumable(open, server, reset),
    resume: (server: RunningServer, ...named: [id: string, token?: string]) => returnTo(open, server, named),
  };
}
