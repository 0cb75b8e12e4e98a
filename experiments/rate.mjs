import { measureCpu } from "@openenv-ts/bench";
import { BEFORE } from "./servers.mjs";

/** Targets of a rate: a part of the control's, a multiple of Python's. */
export const rateTargets = (ofControl) => [
  { limit: "at least", value: BEFORE ? 0.98 : ofControl, of: "control" },
  { limit: "at least", value: 6, of: "python" },
  { limit: "at least", value: 6, of: "python async" },
];

/** Every connection says four things of its own in turn, so that an answer to another request is found out. */
export const echoWorkload = {
  actions: (connection) => [1, 2, 3, 4].map((turn) => ({ message: `connection ${connection} says ${turn}` })),
  check({ observation, reward, done }, { message }) {
    if (observation?.echoed_message !== message || observation.message_length !== message.length) return "not the echo";
    return Math.abs(reward - message.length * 0.1) < 1e-9 && done === false ? undefined : "wrong reward or done";
  },
};

/** What `work` gets done in one second of the server's processor time. */
export async function measureRate(bench, { subject, server, work }) {
  const own = process.cpuUsage();
  const { result, cpuSeconds, seconds } = await awake(() => measureCpu(server.pid, work));
  const { user, system } = process.cpuUsage(own);
  (bench.busy[subject] ??= []).push({ server: cpuSeconds / seconds, load: (user + system) / 1e6 / seconds });
  return result.done / cpuSeconds;
}

/**
 * Runs `work` while this process never sleeps. To wake a process on this machine costs the one that writes to it; a
 * server would pay for a load that waits, and the more the slower it is itself.
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
