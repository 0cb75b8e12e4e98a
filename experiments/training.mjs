/**
 * `npm run bench:training`: trains with TRL's GRPOTrainer on a CPU, on our server through `for_trl` and on the released
 * Python package's, through `for_trl` and through a class around the released client. `OPENENV_TRAINING_PYTHON` names a
 * Python with the packages of CONTRIBUTING.md. Options: see suite.mjs.
 */
import { execFile, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runSuite } from "./suite.mjs";

const PYTHON = process.env.OPENENV_TRAINING_PYTHON;
const TASKS = ["echo", "wordle", "counting"];
const SEEDS = [1, 2, 3];
const SUBJECTS = ["ours", "ours, own class", "python", "python, own class"];
const PARTS = 4;

/** Runs a script of `controls/` and returns the lines of JSON that it prints. */
async function run(script, ...args) {
  const path = fileURLToPath(new URL(`controls/${script}`, import.meta.url));
  const { stdout } = await promisify(execFile)(PYTHON, [path, ...args.map(String)], { maxBuffer: 2 ** 26 });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Returns the trainings of each seed. */
async function train(task, steps, rollouts, quick) {
  const seeds = quick ? SEEDS.slice(0, 1) : SEEDS;
  const lines = await run("training.py", task, steps, rollouts, ...seeds);
  return seeds.map((seed) => lines.filter((line) => line.seed === seed));
}

async function measureCurves({ quick }) {
  const rows = [];
  for (const task of TASKS) {
    const runs = await train(task, 20, 8, quick);
    for (let part = 0; part < PARTS; part++) {
      const measure = `${task}: mean reward of an episode, steps ${part * 5 + 1} to ${part * 5 + 5}`;
      const samples = samplesOf(runs, ({ episodes }) => meanReward(episodes, part));
      rows.push({ id: `${task}-reward-${part + 1}`, measure, unit: "reward", samples, targets: [] });
    }
    rows.push({
      id: `${task}-different`,
      measure: `${task}: of ${runs[0][0].episodes.length}, those whose rewards are not equal in all four`,
      unit: "episodes",
      samples: { ours: runs.map(countDifferent) },
      targets: [{ limit: "at most", value: 0 }],
    });
    rows.push(shareOf(`${task}-share`, `${task}: time spent on the environment, 8 rollouts a step`, runs));
  }
  return rows;
}

async function measureShare({ quick }) {
  const runs = await train("wordle", quick ? 2 : 4, 64, quick);
  return [
    shareOf("wordle-64-share", "wordle: time spent on the environment, 64 rollouts a step", runs),
    { ...secondsOf(runs), id: "wordle-64-seconds", measure: "wordle: the environment, 64 rollouts, for a step" },
  ];
}

async function measureVector({ quick }) {
  const lines = await run("vector_step.py", 64, quick ? 10 : 100, quick ? 1 : 5);
  const samples = Object.fromEntries(
    SUBJECTS.map((subject) => [subject, lines.filter(({ way }) => way === subject).map(({ rate }) => rate)]),
  );
  const targets = [
    { limit: "at least", value: 3, of: "python, own class" },
    { limit: "at least", value: 3, of: "ours, own class" },
  ];
  return [{ id: "vector-step", measure: "64 sessions as a vector environment", unit: "steps/s", samples, targets }];
}

function samplesOf(runs, read) {
  return Object.fromEntries(
    SUBJECTS.map((way) => [
      way,
      runs.map((run) =>
        read(
          run.find((one) => one.way === way),
          run,
        ),
      ),
    ]),
  );
}

function shareOf(id, measure, runs) {
  const samples = samplesOf(runs, ({ environment, seconds }) => (100 * environment) / seconds);
  return { id, measure, unit: "% of the training", samples, targets: [] };
}

function secondsOf(runs) {
  const samples = samplesOf(runs, ({ environment, episodes }) => (1000 * environment) / (episodes.length / 64));
  return { unit: "ms", samples, targets: [] };
}

function meanReward(episodes, part) {
  const own = episodes.slice((part * episodes.length) / PARTS, ((part + 1) * episodes.length) / PARTS);
  return own.flat().reduce((sum, reward) => sum + reward, 0) / own.length;
}

/** Rewards are compared as JSON has them, to the last digit. */
function countDifferent([first, ...others]) {
  const isEqual = (rewards, index) =>
    others.every(({ episodes }) => JSON.stringify(episodes[index]) === JSON.stringify(rewards));
  return first.episodes.filter((rewards, index) => !isEqual(rewards, index)).length;
}

if (PYTHON === undefined) {
  process.stderr.write("OPENENV_TRAINING_PYTHON is not set: name a Python with TRL, see CONTRIBUTING.md\n");
  process.exit(2);
}

const versions = JSON.parse(
  execFileSync(
    PYTHON,
    [
      "-c",
      "import importlib.metadata as m, json, sys; print(json.dumps({name: m.version(name) for name in sys.argv[1:]}))",
      ...["trl", "torch", "stable-baselines3", "openenv"],
    ],
    { encoding: "utf8" },
  ),
);

await runSuite({
  title: "Training",
  command: "OPENENV_TRAINING_PYTHON=python npm run bench:training",
  report: "TRAINING.md",
  csv: "training.csv",
  experiments: {
    curves: { title: "three tasks, three seeds, 20 steps of 8 rollouts", run: measureCurves },
    share: { title: "64 rollouts a step", run: measureShare },
    vector: { title: "64 sessions as a vector environment", run: measureVector },
  },
  createBench: ({ quick }) => ({ subjects: SUBJECTS, quick, close() {} }),
  notes: ({ quick }) => [
    `On a CPU, without a GPU: ${Object.entries(versions)
      .map((one) => one.join(" "))
      .join(", ")}.`,
    "`ours`: `openenv serve` and `for_trl`. `python`: a server of the released Python package with the same tasks " +
      "(`conformance/python-server/training_server.py`) and `for_trl`. `own class`: a hand-written class around the " +
      `released client. All four train in turn in one process with the same seeds of model and trainer: ${quick ? 1 : "1 to 3"}.`,
    "The model has about 21,000 parameters and random weights; its tokens are whole tool calls, so it acts from the first step " +
      "on. With a real model a step takes longer, and the share of the environment is smaller.",
    "Mean rewards, over the seeds, are the reward curve: 8 rollouts a step, two prompts with four rollouts each. Rewards " +
      "are compared to the last digit.",
    "The tasks and their settings were chosen so that the reward rises within 20 steps: the curves show that learning " +
      "works on easy tasks, not how fast.",
    "Time spent on the environment: in resets and tool calls, as the trainer waits for them.",
    "Vector environment: `OpenEnvVectorGym` and Stable-Baselines3's `DummyVecEnv` around the released client, `step` alone.",
  ],
});
