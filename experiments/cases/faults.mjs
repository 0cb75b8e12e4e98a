import { TYPESCRIPT } from "../faults/clients.mjs";
import { playDisturbed } from "../faults/disturbed.mjs";

export const title = "faults between clients and server";

export const run = ({ faults, seed, quick }) => playDisturbed({ ...TYPESCRIPT, id: "faults", faults, seed, quick });
