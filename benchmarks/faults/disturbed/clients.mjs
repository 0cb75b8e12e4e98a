import { crewsOf } from "./crews.mjs";
import { pythonClients } from "./players.mjs";
import { FAULTS } from "./proxy.mjs";

/** Sessions by client: 64 of `connect` (every other one with MessagePack), 8 sockets of 12 sessions, 16 own sockets. */
export const TYPESCRIPT = {
  id: "typescript",
  who: "TypeScript clients",
  clients: crewsOf([
    ...Array.from({ length: 64 }, (_, nth) => ({ size: 1, binary: nth % 2 === 1 })),
    ...Array.from({ length: 8 }, () => ({ size: 12 })),
    { size: 16, ownSockets: true },
  ]),
};

/** Without repeated frames: a released client takes each answer for that of its current call. */
export const PYTHON = {
  id: "python",
  who: "Python clients by address",
  clients: pythonClients(96),
  kinds: Object.keys(FAULTS).filter((kind) => !kind.startsWith("repeated ")),
};

/**
 * The same while their processes are killed. Then the first of two connections may be lost with its process, and the server
 * takes the second one for the client, which has come back.
 */
export const PYTHON_KILLED = {
  ...PYTHON,
  kinds: PYTHON.kinds.filter((kind) => kind !== "connection that arrives twice"),
};

/** Whether the released Python clients can be run; a report says why not. */
export function hasPython({ python, missing }) {
  const reason = `Not measured, released Python clients: ${python.missing}.`;
  if (python.missing && !missing.includes(reason)) missing.push(reason);
  return !python.missing;
}
