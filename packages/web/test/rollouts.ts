import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineContract, defineEnvironment } from "openenv-ts";
import { afterEach } from "vitest";
import { z } from "zod";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";

/** What a step of the desk does: earns its reward, and refuses, ends or never answers on request. */
export interface DeskStep {
  reward: number;
  refuse?: string;
  end?: boolean;
  hang?: boolean;
}

const contract = defineContract({
  name: "desk_env",
  description: "A desk that does what its steps say.",
  action: z.object({
    reward: z.number(),
    refuse: z.string().default(""),
    end: z.boolean().default(false),
    hang: z.boolean().default(false),
  }),
  observation: z.object({ text: z.string() }),
  state: z.object({}),
});

export default defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "A customer waits." } }),
  step: ({ reward, refuse, end, hang }, { signal }) => {
    if (refuse !== "") throw new Error(refuse);
    if (hang) {
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    }
    return { observation: { text: `It earned ${reward}.` }, reward, done: end };
  },
  state: () => ({}),
}));

export interface DeskEpisode {
  seed: number;
  group: string;
  run?: string;
  steps: readonly DeskStep[];
}

/** Folders of stores, which are deleted after each test. */
export function useFolders(): () => Promise<string> {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-rollouts-"));
    folders.push(folder);
    return join(folder, "data");
  };
}

/** Plays episodes on some sockets at a time; the last call of an episode may not be answered. */
export async function playAll(url: string, episodes: readonly DeskEpisode[], sockets = 16): Promise<void> {
  const rest = [...episodes];
  const players = Array.from({ length: Math.min(sockets, rest.length) }, async () => {
    await using socket = await openTestSocket(`${url}/ws`);
    for (let next = rest.shift(); next; next = rest.shift()) await playOn(socket, next);
  });
  await Promise.all(players);
}

export async function playOn(socket: TestSocket, { seed, group, run = "desk-1", steps }: DeskEpisode): Promise<void> {
  await socket.ask({ type: "reset", data: { seed, metadata: { group, run, policy_step: 40 } } });
  for (const step of steps) {
    if (step.hang) socket.send({ type: "step", data: step });
    else await socket.ask({ type: "step", data: step });
  }
}
