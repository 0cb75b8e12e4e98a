import { playDisturbed } from "./faults.mjs";

export const title = "faults and killed workers, with a journal";

/** Sessions on sockets with batches are not restored. */
const CREWS = [
  ...Array.from({ length: 64 }, (_, nth) => ({ size: 1, binary: nth % 2 === 1 })),
  { size: 16, ownSockets: true },
];
const KILL_EVERY_MS = 3_000;

export const run = ({ faults, seed }) =>
  playDisturbed({ id: "restored", faults: Math.ceil(faults / 4), seed, crews: CREWS, killEveryMs: KILL_EVERY_MS });
