import { hasPython, PYTHON } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";

export const title = "faults between released Python clients and server, sessions by address";

export const run = async (bench) => {
  if (!hasPython(bench)) return [];
  const { faults, seed, quick } = bench;
  return playDisturbed({ ...PYTHON, id: "address", faults: Math.ceil(faults / 2), seed, quick });
};
