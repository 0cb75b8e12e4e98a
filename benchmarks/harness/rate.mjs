import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, measureCpu } from "@openenv-ts/bench";
import { BEFORE } from "./servers.mjs";

/** Targets of a rate: a fraction of the control's, a multiple of Python's. */
export const rateTargets = (ofControl) => [
  { limit: "at least", value: BEFORE ? 0.98 : ofControl, of: "control" },
  { limit: "at least", value: 6, of: "python" },
  { limit: "at least", value: 6, of: "python async" },
];

/** Every connection sends four different messages in turn, so that a response to another request is detected. */
export const echoWorkload = {
  actions: (connection) => [1, 2, 3, 4].map((turn) => ({ message: `connection ${connection} says ${turn}` })),
  check({ observation, reward, done }, { message }) {
    if (observation?.echoed_message !== message || observation.message_length !== message.length) return "not the echo";
    return Math.abs(reward - message.length * 0.1) < 1e-9 && done === false ? undefined : "wrong reward or done";
  },
};

/** The work done per CPU-second of the server. */
export async function measureRate(bench, { subject, server, work }) {
  const own = process.cpuUsage();
  const { result, cpuSeconds, seconds } = await awake(() => measureCpu(server.pid, work));
  const { user, system } = process.cpuUsage(own);
  (bench.busy[subject] ??= []).push({ server: cpuSeconds / seconds, load: (user + system) / 1e6 / seconds });
  return result.done / cpuSeconds;
}

/**
 * The same for a load that `open` resolves with: it works for `warmUp`, then it is measured while it works for `length`.
 * `work` gets the load and one of the two, seconds in most cases.
 */
export async function measureLoad(bench, { subject, server, open, work, warmUp, length }) {
  const load = await open();
  try {
    await work(load, warmUp);
    return await measureRate(bench, { subject, server, work: () => work(load, length) });
  } finally {
    await load.close();
  }
}

/** Steps per CPU-second of the server, with the messages of an echo unless there is another workload. */
export function measureSteps(bench, { subject, server, connections, workload = echoWorkload, warmUp, seconds }) {
  return measureLoad(bench, {
    ...{ subject, server, warmUp, length: seconds },
    open: () => createLoad({ url: server.url, connections, workload }),
    work: (load, time) => load.step(time),
  });
}

/**
 * Rates of subjects whose servers live at the same time and work in short turns, because what else the machine does changes
 * in seconds. Servers are started several times, because V8 compiles each in its own way; each start is a sample. `open`
 * resolves with `{ server, work, close }` of a subject that is warm. What servers do within `settleMs` after the last turn counts.
 */
export async function measureTurns({ subjects, starts, turns, seconds, settleMs, open }) {
  const samples = Object.fromEntries(subjects.map((subject) => [subject, []]));
  for (let start = 0; start < starts; start++) {
    const opened = [];
    try {
      for (const subject of start % 2 ? subjects.toReversed() : subjects)
        opened.push({ subject, done: 0, ...(await open(subject)) });
      const takeTurns = async () => {
        for (let turn = 0; turn < turns; turn++) {
          for (const one of turn % 2 ? opened.toReversed() : opened) one.done += (await one.work(seconds)).done;
        }
        await sleep(settleMs);
      };
      // Each server is measured around the measurement of the next one.
      const measureAll = opened.reduce(
        (work, one) => async () => {
          const { cpuSeconds } = await measureCpu(one.server.pid, work);
          samples[one.subject].push(one.done / cpuSeconds);
        },
        takeTurns,
      );
      await awake(measureAll);
    } finally {
      for (const { close } of opened) await close();
    }
  }
  return samples;
}

/**
 * Runs `work` while this process never sleeps. Waking a process costs the one that writes to it, so a server would pay
 * for a load that waits, and a slow server more.
 */
async function awake(work) {
  let done = false;
  const spin = () => {
    if (!done) setImmediate(spin);
  };
  spin();
  try {
    return await work();
  } finally {
    done = true;
  }
}
