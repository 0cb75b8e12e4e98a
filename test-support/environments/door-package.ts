import { createProject, type Project } from "../commands/command-line.js";

/** Creates a door. The changes are texts of the environment or its oracle, and what replaces them. */
export function createDoor(
  note: string,
  changes: Record<string, string> = {},
  files: Record<string, string> = {},
): Promise<Project> {
  const adapt = (text: string): string =>
    Object.entries(changes).reduce((changed, [from, to]) => changed.replaceAll(from, () => to), text);
  return createProject({
    "server/environment.ts": adapt(DOOR.replaceAll("NOTE", note)),
    "validation/oracle.ts": adapt(DOOR_ORACLE),
    ...files,
  });
}

/** A door with four buttons: three of them in the right order pay, and the door stays closed. */
const DOOR = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const door = defineContract({
  name: "door_env",
  action: z.object({ press: z.enum(["up", "down", "left", "right", "open"]), code: z.int().default(0) }),
  observation: z.object({ note: z.string(), pressed: z.int() }),
  state: z.object({ isOpen: z.boolean() }),
});

export default defineEnvironment(door, () => {
  let [code, pressed, isOpen, isOver]: [number, string[], boolean, boolean] = [0, [], false, false];
  const answer = (reward: number) => {
    isOver ||= reward > 0;
    return { observation: { note: NOTE, pressed: pressed.length }, reward, done: isOver };
  };
  return {
    reset: ({ rng }) => {
      [code, pressed, isOpen, isOver] = [rng.int(100, 120), [], false, false];
      return { observation: { note: NOTE, pressed: 0 } };
    },
    step: (action) => {
      if (isOver) return answer(0);
      pressed.push(action.press);
      isOpen ||= action.press === "open" && action.code === code;
      return answer(isOpen || pressed.slice(-3).join() === "left,up,right" ? 1 : 0);
    },
    state: () => ({ isOpen }),
  };
}, { seeded: true });
`;
const DOOR_ORACLE = `
import { rng } from "openenv-ts";
export const oracle = ({ seed }) => ({ press: "open", code: rng(seed).int(100, 120) });
export const solved = (_task, { isOpen }) => isOpen;
`;
