import { playDisturbed } from "../faults/disturbed.mjs";
import { pythonClients } from "../faults/players.mjs";
import { FAULTS } from "../faults/proxy.mjs";

export const title = "faults between released Python clients and server, sessions by address";

const SESSIONS = 96;
/** Not repeated frames: a released client takes each answer for that of its current call. */
const KINDS = Object.keys(FAULTS).filter((kind) => !kind.startsWith("repeated "));

export const run = async ({ faults, seed, python, missing }) => {
  if (python.missing) return missing.push(`Not measured, released Python clients: ${python.missing}.`) && [];
  return playDisturbed({
    ...{ id: "address", who: "Python clients by address", clients: pythonClients(SESSIONS), kinds: KINDS, seed },
    faults: Math.ceil(faults / 2),
  });
};
