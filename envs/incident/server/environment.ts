import { defineEnvironment, type TextSpan } from "openenv-ts";
import { type Kind, makeCase } from "../cases.js";
import { listChanged } from "../files.js";
import { grade, NOTHING, type Parts } from "../grade.js";
import { incident } from "../models.js";
import { run } from "../shell.js";
import { tasks } from "../tasks.js";
import { findProblem, type World } from "../world.js";

/** The episode is truncated after so many calls. */
const MOST_CALLS = 60;
const LARGEST_SEED = 0x7fff_ffff;
const OVER = "The episode is over: reset to begin another.";
const INSTRUCTIONS =
  "You are on call for a host. Find out why services fail and repair them, so that they also survive a restart, and then " +
  "call resolve. Change only what is broken: lost data, needless changes and restarts of healthy services cost. Begin " +
  "with cat /RUNBOOK.md.";

/** One episode, plain JSON. */
interface Play {
  seed: number;
  kind: Kind | undefined;
  alert: string;
  world: World;
  calls: number;
  summary: string | null;
  /** Set when the episode is over. */
  parts?: Parts;
}

export default defineEnvironment(
  incident,
  () => {
    let play: Play | undefined;
    const current = (): Play => {
      if (play === undefined) throw new Error("the server let a call through before the reset");
      return play;
    };
    return {
      reset: ({ task, rng }) => {
        const [seed, kind] = [task?.seed ?? rng.int(0, LARGEST_SEED), task?.kind];
        const { world, alert } = makeCase(seed, kind);
        play = { seed, kind, alert, world, calls: 0, summary: null };
        return { observation: { alert, instructions: INSTRUCTIONS }, reward: 0 };
      },
      tools: {
        bash: async ({ command }) => {
          const it = current();
          return it.parts ? { stdout: "", stderr: `${OVER}\n`, exit_code: 1 } : await run(it.world, command);
        },
        resolve: ({ summary }) => {
          const it = current();
          if (it.parts) return { message: OVER };
          it.summary = summary;
          return { message: "The incident is closed." };
        },
      },
      afterTool: async () => {
        const it = current();
        if (it.parts) return { reward: 0, done: true };
        it.calls++;
        const truncated = it.summary === null;
        if (truncated && it.calls < MOST_CALLS) return { reward: 0 };
        // An incident that was not declared resolved earns nothing.
        it.parts = truncated ? NOTHING : await grade(it.world, makeCase(it.seed, it.kind));
        const reward = Object.values(it.parts).reduce((sum, part) => sum + Math.round(part * 100), 0) / 100;
        return { reward, done: true, truncated, metadata: { reward_components: it.parts } };
      },
      state: () => {
        if (play === undefined) return {};
        const { world, seed, kind, calls, summary } = play;
        const services = world.services.map((one) => ({ name: one.name, healthy: findProblem(world, one) === null }));
        const changed = listChanged(makeCase(seed, kind).world.files, world.files);
        const said = { resolved: summary !== null, summary: summary ?? "" };
        return { services, changed, needless_restarts: world.needless, calls, ...said };
      },
      render: () => {
        const { alert = "", world, parts } = play ?? {};
        const services = (world?.services ?? []).map(
          (one) => [one.name, findProblem(world as World, one) === null] as const,
        );
        const earned = Object.entries(parts ?? {}).map(([name, value]) => [`${name} ${value}`, value > 0] as const);
        const spans = [...services, ...earned].map(([text, isGood]): TextSpan => {
          return { text: ` ${text} `, tone: isGood ? "positive" : "negative" };
        });
        return [{ kind: "text", runs: [{ text: alert }, ...spans] }];
      },
      snapshot: () => play ?? null,
      restore: (saved: Play | null) => {
        play = saved ?? undefined;
      },
    };
  },
  { seeded: true, sharesState: "no", tasks },
);
