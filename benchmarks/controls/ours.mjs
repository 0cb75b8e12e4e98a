/** `node ours.mjs echo|process|disk|snapshots|slow|full|tools|track|text|numbers`: an environment served by this package, as a user would write it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import { serve } from "openenv-ts/server";
import * as z from "zod";
import { echo } from "./echo.mjs";
import { makeNumbers, makeText } from "./observations.mjs";
import { ready } from "./ready.mjs";

const echoTools = defineTools({
  echo_message: { description: "Returns the message.", input: z.object({ message: z.string() }), output: z.string() },
});
const environments = {
  echo,
  /** The echo environment with a journal in a file, by its durability. */
  process: () => restorableEcho(),
  disk: () => restorableEcho(),
  /** An environment whose state is a thousand numbers. */
  snapshots: () =>
    defineEnvironment(
      defineContract({ name: "snapshots_env", action: z.object({}), observation: z.object({ sum: z.number() }) }),
      () => {
        let numbers = [];
        const show = () => ({ observation: { sum: numbers.reduce((sum, number) => sum + number, 0) } });
        return {
          reset: () => {
            numbers = Array.from({ length: 1_000 }, (_, nth) => nth);
            return show();
          },
          step: show,
          snapshot: () => numbers,
          restore: (saved) => {
            numbers = saved;
          },
        };
      },
    ),
  /** The echo environment with an optional wait; `extra` may be anything. Its snapshot has as many records as a reset sets. */
  slow: () =>
    defineEnvironment(
      defineContract({
        name: "slow_env",
        action: z.object({ message: z.string(), wait_ms: z.int().default(0), extra: z.unknown().optional() }),
        observation: z.object({ echoed_message: z.string(), message_length: z.int().min(0) }),
        reset: z.object({ records: z.int().default(0) }),
      }),
      () => {
        let saved = [];
        const echo = (message) => ({
          observation: { echoed_message: message, message_length: message.length },
          reward: message.length * 0.1,
        });
        return {
          reset: ({ records }) => {
            saved = Array.from({ length: records }, (_, nth) => ({ nth, name: `s${nth}` }));
            return echo("");
          },
          snapshot: () => saved,
          restore: (records) => {
            saved = records;
          },
          step: ({ message, wait_ms }) => (wait_ms === 0 ? echo(message) : sleep(wait_ms, echo(message))),
        };
      },
    ),
  /** The same, for a server with a small capacity. */
  full: () => environments.slow(),
  tools: () =>
    defineEnvironment(defineContract({ name: "echo_env", tools: echoTools }), () => ({
      reset: () => ({ observation: {} }),
      tools: { echo_message: ({ message }) => message },
    })),
  /** Numbers with bounds, which are spaces of Gymnasium. */
  track: () =>
    defineEnvironment(
      defineContract({
        name: "track_env",
        action: z.object({ move: z.int().min(0).max(2) }),
        observation: z.object({ position: z.number().min(-1).max(1), speed: z.number().min(-1).max(1) }),
      }),
      () => {
        let position = 0;
        return {
          reset: () => ({ observation: { position: (position = 0), speed: 0 } }),
          step: ({ move }) => {
            position = Math.max(-1, Math.min(1, position + (move - 1) / 10));
            return { observation: { position, speed: move - 1 }, reward: position };
          },
        };
      },
    ),
  text: () => large({ text: z.string() }, { text: "" }, { text: makeText() }),
  numbers: () => large({ values: z.array(z.int()) }, { values: [] }, { values: makeNumbers() }),
};

const JOURNALS = {
  process: { file: "sessions.db", journalDurability: "process" },
  disk: { file: "sessions.db", journalDurability: "disk" },
};
const [, , name] = process.argv;
// Workers run this program, too, with the variables of their supervisor.
const isFirst = process.env.OPENENV_BENCH_FOLDER === undefined;
const folder = (process.env.OPENENV_BENCH_FOLDER ??= mkdtempSync(join(tmpdir(), "openenv-bench-journal-")));
if (isFirst) process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const { file, ...durability } = JOURNALS[name] ?? {};
const server = await serve(environments[name](), {
  port: 0,
  maxConcurrentEnvs: name === "full" ? 14 : 20_000,
  handleSignals: true,
  ...(file !== undefined && { journal: join(folder, file), ...durability }),
});
ready(server.port);

function restorableEcho() {
  const { contract, create } = echo();
  return defineEnvironment(contract, () => ({ ...create(), snapshot: () => null, restore: () => {} }));
}

function large(fields, first, observation) {
  const contract = defineContract({ name: "large_env", action: z.object({}), observation: z.object(fields) });
  return defineEnvironment(contract, () => ({
    reset: () => ({ observation: first }),
    step: () => ({ observation, reward: 1 }),
  }));
}
