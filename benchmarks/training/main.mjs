/**
 * `npm run bench -- training`: trains with TRL's GRPOTrainer on a CPU, on our server through `for_trl` and on the released
 * Python package's, through `for_trl` and through a class around the released client. `OPENENV_TRAINING_PYTHON` names a
 * Python with the packages of CONTRIBUTING.md. Options: see harness/suite.mjs.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild, startChild } from "../harness/children.mjs";
import { startCluster } from "../harness/clusters.mjs";
import { runSuite } from "../harness/suite.mjs";

const PYTHON = process.env.OPENENV_TRAINING_PYTHON;
const TASKS = ["echo", "wordle", "counting"];
const SEEDS = [1, 2, 3];
const SUBJECTS = ["ours", "ours, own class", "python", "python, own class"];
const PARTS = 4;
const ROOT = join(import.meta.dirname, "../..");
const SERVERS = join(ROOT, "conformance/python-server");
const PAGE = join(ROOT, "docs/guide/train/stable-baselines3.md");

/** Calls `work` with the URLs of these servers, each with one of the training tasks. */
async function withServers(task, kinds, work) {
  const servers = [];
  try {
    for (const kind of kinds) servers.push(await START[kind](task));
    return await work(...servers.map(({ url }) => url));
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

const START = {
  ours: (task) => startOurs(join(SERVERS, "training-environment.mjs"), { TASK: task }),
  python: (task) =>
    startChild([PYTHON, join(SERVERS, "training_server.py"), "64"], {
      env: { TASK: task },
      findPort: (text) => /^http:\/\/\S+:(\d+)$/m.exec(text)?.[1],
    }),
};

function startOurs(target, env) {
  return startCluster("node", { target, env: { MAX_CONCURRENT_ENVS: "2000", ...env } });
}

/** Runs a script of this folder and returns the lines of JSON that it prints. */
async function run(script, ...args) {
  const output = await runChild([PYTHON, join(import.meta.dirname, script), ...args.map(String)]);
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Returns the trainings of each seed. */
async function train(task, steps, rollouts, seeds) {
  const lines = await withServers(task, ["ours", "python"], (...urls) =>
    run("training.py", task, steps, rollouts, ...urls, ...seeds),
  );
  return seeds.map((seed) => lines.filter((line) => line.seed === seed));
}

async function measureCurves({ quick }) {
  const rows = [];
  for (const task of TASKS) {
    const runs = await train(task, 20, 8, quick ? SEEDS.slice(0, 1) : SEEDS);
    for (let part = 0; part < PARTS; part++) {
      const measure = `${task}: mean reward of an episode, steps ${part * 5 + 1} to ${part * 5 + 5}`;
      const samples = samplesOf(runs, ({ episodes }) => meanReward(episodes, part));
      rows.push({ id: `${task}-reward-${part + 1}`, measure, unit: "reward", samples, targets: [] });
    }
    rows.push({
      id: `${task}-different`,
      measure: `${task}: of ${runs[0][0].episodes.length}, those whose rewards are not equal on both servers`,
      unit: "episodes",
      samples: { ours: runs.map(countDifferent) },
      targets: [{ limit: "at most", value: 0 }],
    });
    rows.push(shareOf(`${task}-share`, `${task}: time spent on the environment, 8 rollouts a step`, runs));
  }
  return rows;
}

async function measureShare({ quick }) {
  const runs = await train("wordle", quick ? 2 : 3, 64, SEEDS.slice(0, quick ? 1 : 2));
  const part = "wordle: the environment, 64 rollouts";
  return [
    shareOf("wordle-64-share", "wordle: time spent on the environment, 64 rollouts a step", runs),
    millisecondsOf("wordle-64-first", `${part}, in the first step, which opens the sessions`, runs, (all) =>
      all.slice(0, 1),
    ),
    millisecondsOf("wordle-64-later", `${part}, in a later step`, runs, (all) => all.slice(1)),
  ];
}

async function measureVector({ quick }) {
  const lines = await withServers("counting", ["ours", "ours", "python"], (...urls) =>
    run("vector_step.py", 64, quick ? 6 : 24, 0.5, ...urls),
  );
  const rates = Object.fromEntries(
    SUBJECTS.map((subject) => [subject, lines.filter(({ way }) => way === subject).map(({ rate }) => rate)]),
  );
  const { "ours, own class": ours, "python, own class": python } = rates;
  return [
    {
      id: "vector-step",
      measure: "64 sessions as a vector environment",
      unit: "steps/s",
      samples: rates,
      targets: [
        { limit: "at least", value: 3, of: "python, own class" },
        { limit: "at least", value: 3, of: "ours, own class" },
      ],
    },
    {
      id: "vector-step-released",
      measure: "the same, with the released client on both servers",
      unit: "steps/s",
      samples: { ours, python },
      targets: [{ limit: "at least", value: 1, of: "python" }],
    },
  ];
}

/** The environment and the script of the page. */
async function measurePpo({ quick }) {
  const [, environment] = /^```ts file=line\.ts\n(.*?)^```$/ms.exec(readFileSync(PAGE, "utf8"));
  // In the repository, where the environment finds its packages.
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".cache/training-"));
  const target = join(folder, "line.ts");
  try {
    writeFileSync(target, environment);
    const server = await startOurs(target);
    try {
      return rowsOfPpo(await run("ppo.py", server.url, ...(quick ? SEEDS.slice(0, 1) : SEEDS)));
    } finally {
      await server.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function rowsOfPpo(lines) {
  const row = (key, measure, unit, ...targets) => {
    return { id: `ppo-${key}`, measure, unit, samples: { ours: lines.map((line) => line[key]) }, targets };
  };
  const steps = lines[0].steps.toLocaleString("en");
  return [
    row("before", "PPO, a walk along a line: mean reward of an episode before the training", "reward"),
    row("after", `the same, after ${steps} steps`, "reward", { limit: "at least", value: 0.7 }),
    row("seconds", "the same, time of the training and both evaluations", "s"),
  ];
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
  const samples = samplesOf(runs, ({ environment, seconds }) => (100 * sum(environment)) / seconds);
  return { id, measure, unit: "% of the training", samples, targets: [] };
}

/** Each step that `choose` returns is a sample. */
function millisecondsOf(id, measure, runs, choose) {
  const samples = samplesOf(runs, ({ environment }) => choose(environment).map((seconds) => 1000 * seconds));
  for (const way of SUBJECTS) samples[way] = samples[way].flat();
  return { id, measure, unit: "ms", samples, targets: [] };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function meanReward(episodes, part) {
  const own = episodes.slice((part * episodes.length) / PARTS, ((part + 1) * episodes.length) / PARTS);
  return sum(own.flat()) / own.length;
}

/** Rewards are compared as JSON has them, to the last digit. */
/**
 * The episodes that one way to play has otherwise on the other server. Two ways differ: `for_trl` describes the tools to the
 * model with their whole schema, a hand-written class by its signature.
 */
function countDifferent(ways) {
  const [ours, ourClass, python, pythonClass] = SUBJECTS.map((subject) =>
    ways.find(({ way }) => way === subject).episodes.map((one) => JSON.stringify(one)),
  );
  return ours.filter((rewards, index) => rewards !== python[index] || ourClass[index] !== pythonClass[index]).length;
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
  name: "training",
  variables: "OPENENV_TRAINING_PYTHON=python",
  parts: {
    curves: { title: "three tasks, three seeds, 20 steps of 8 rollouts", run: measureCurves },
    share: { title: "64 rollouts a step, two seeds", run: measureShare },
    vector: { title: "64 sessions as a vector environment", run: measureVector },
    ppo: { title: "PPO of Stable-Baselines3, three seeds", run: measurePpo },
  },
  createBench: ({ quick }) => ({ subjects: SUBJECTS, quick, close() {} }),
  notes: ({ quick }) => [
    `On a CPU, without a GPU: ${Object.entries(versions)
      .map((one) => one.join(" "))
      .join(", ")}.`,
    "`ours`: `openenv serve` and `for_trl`. `python`: a server of the released Python package with the same tasks " +
      "(`conformance/python-server/training_server.py`) and `for_trl`. `own class`: a hand-written class around the " +
      `released client, which describes its tools in another way, so that its model reads another prompt. All four train in turn in one process with the same seeds of model and trainer: ${quick ? 1 : "1 to 3, with 64 rollouts 1 and 2"}.`,
    "The model has about 21,000 parameters and random weights; its tokens are whole tool calls, so it acts from the first step " +
      "on. With a real model a step takes longer, and the share of the environment is smaller.",
    "Mean rewards, over the seeds, are the reward curve: 8 rollouts a step, two prompts with four rollouts each. Rewards " +
      "are compared to the last digit.",
    "How the tasks were chosen: echo, a wordle-like and a counting task were decided on before the first run. Their " +
      "details were then chosen by hand so that the mean reward of a random model rises within 20 steps: four secrets among " +
      "the eight words that the model can say, messages of at most three letters, amounts of at most 3, and a " +
      "high learning rate, 0.03. So the curves show that the rewards reach the model and that it learns on " +
      "easy tasks, not how fast or how well it would learn on a task that was not chosen for it. The seeds are the first " +
      "ones, and none was left out. The comparison does not depend on this choice: both servers play the same episodes.",
    "Time spent on the environment: in resets and tool calls, one after the other, as the trainer waits for them.",
    "Vector environment: `OpenEnvVectorGym` and Stable-Baselines3's `DummyVecEnv` around the released client, `step` " +
      "alone. Each way has its own server and all take turns of half a second in one Python process, in every order.",
    "PPO: the environment and the script of docs/guide/train/stable-baselines3.md, 32 sessions of `OpenEnvVectorGym`, with " +
      `${quick ? "the seed 1" : "the seeds 1 to 3"}. An evaluation plays 64 episodes. The best policy has 0.9 on average. A seed is that of the model and of the first episode of each session; later ones begin at random, so runs differ a little.`,
    "Before each training and before the vector environments all garbage of Python is collected, and what is left is not " +
      "searched again: a full collection with torch loaded takes up to a second.",
    ...(quick ? ["A quick run: the rewards are exact, the times are from one seed and a few turns."] : []),
  ],
});
