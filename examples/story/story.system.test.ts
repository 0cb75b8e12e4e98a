import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireTraining } from "../../test-support/requirement.js";

const ROOT = join(import.meta.dirname, "../..");
const OPENENV = `"${process.execPath}" "${join(ROOT, "packages/cli/bin/openenv.js")}"`;
const STEPS = 6;
const ROLLOUTS = 4;
const LIMIT_MS = 600_000;
const MAKE_MODEL = `
import sys
from training.tiny_model import make_model
for part in make_model([("step", {"amount": amount}) for amount in range(4)]):
    part.save_pretrained(sys.argv[1])
`;
const python = await requireTraining();

interface Rollout {
  step: number;
  reward: number | null;
  server: string;
  session: string;
  episode_id: string;
  lost: string | null;
}

describe.skipIf(!python.available)("a training while processes of its environment are killed", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "openenv-story-"));
    await run(["-c", MAKE_MODEL, join(folder, "model")]);
  }, LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function run(args: string[]): Promise<string> {
    const env = { ...process.env, PYTHONPATH: join(ROOT, "python/tests"), PYTHONDONTWRITEBYTECODE: "1" };
    const options = { cwd: folder, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(python.path, args, options)).stdout;
  }

  async function train(name: string, ...flags: string[]) {
    const options = {
      "--model": join(folder, "model"),
      "--steps": String(STEPS),
      "--rollouts": String(ROLLOUTS),
      "--learning-rate": "3e-2",
      "--processes": "6",
      "--openenv": OPENENV,
      "--output-dir": name,
    };
    const printed = await run([join(import.meta.dirname, "train.py"), ...Object.entries(options).flat(), ...flags]);
    const lines = (await readFile(join(folder, name, "rollouts.jsonl"), "utf8")).trimEnd().split("\n");
    const summary = JSON.parse(printed.trimEnd().split("\n").at(-1) ?? "");
    return { ...(summary as { curve: number[]; kills: number; lost: number }), rollouts: lines.map(readRollout) };
  }

  const readRollout = (line: string): Rollout => JSON.parse(line);

  test("has the rewards of an undisturbed one, or masks and names what was lost", {
    timeout: 3 * LIMIT_MS,
  }, async () => {
    const quiet = await train("quiet");
    expect(quiet).toMatchObject({ kills: 0, lost: 0 });
    expect(quiet.curve).toHaveLength(STEPS);

    const replayed = await train("replayed", "--kill-every", "2.5", "--replay");
    expect(replayed.kills).toBeGreaterThan(0);
    expect(replayed.lost).toBe(0);
    expect(replayed.curve).toEqual(quiet.curve);

    const masked = await train("masked", "--kill-every", "2.5");
    const lost = masked.rollouts.filter((one) => one.lost !== null);
    expect(lost).toHaveLength(masked.lost);
    expect(masked.rollouts.filter(({ reward }) => reward === null)).toEqual(lost);
    for (const one of lost) expect(one.lost).toMatch(/SESSION_LOST.*process \d ended with signal 9/);
    const before = (lost[0]?.step ?? STEPS + 1) - 1;
    expect(masked.curve.slice(0, before)).toEqual(quiet.curve.slice(0, before));

    for (const { rollouts } of [quiet, replayed, masked]) {
      expect(rollouts).toHaveLength(STEPS * ROLLOUTS);
      expect(new Set(rollouts.map((one) => one.episode_id)).size).toBe(STEPS * ROLLOUTS);
      for (const one of rollouts) expect(one.server && one.session).toMatch(/^[0-9a-f]{8}$/);
    }
  });
});
