import { crewsOf } from "../faults/crews.mjs";
import { playDisturbed } from "../faults/disturbed.mjs";

export const title = "faults between clients and server";

/** Sessions by client: 64 of `connect` (every other one with MessagePack), 8 sockets of 12 sessions, 16 own sockets. */
export const CREWS = [
  ...Array.from({ length: 64 }, (_, nth) => ({ size: 1, binary: nth % 2 === 1 })),
  ...Array.from({ length: 8 }, () => ({ size: 12 })),
  { size: 16, ownSockets: true },
];

export const run = ({ faults, seed }) =>
  playDisturbed({ id: "faults", who: "TypeScript clients", clients: crewsOf(CREWS), faults, seed });
