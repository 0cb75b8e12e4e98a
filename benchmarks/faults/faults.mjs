import { TYPESCRIPT } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";

export const title = "faults between clients and server";

export const run = ({ faults, seed, quick }) => playDisturbed({ ...TYPESCRIPT, id: "faults", faults, seed, quick });
