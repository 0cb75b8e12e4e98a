import { measureCpu } from "openenv-ts/bench";

/** Every connection says four things of its own in turn, so that an answer to another request is found out. */
export const echoWorkload = {
  actions: (connection) => [1, 2, 3, 4].map((turn) => ({ message: `connection ${connection} says ${turn}` })),
  check({ observation, reward, done }, { message }) {
    if (observation?.echoed_message !== message || observation.message_length !== message.length) return "not the echo";
    return Math.abs(reward - message.length * 0.1) < 1e-9 && done === false ? undefined : "wrong reward or done";
  },
};

/** What `work` gets done in one second of the server's processor time. */
export async function measureRate(bench, subject, server, work) {
  const own = process.cpuUsage();
  const { result, cpuSeconds, seconds } = await measureCpu(server.pid, work);
  const { user, system } = process.cpuUsage(own);
  bench.noteBusy(subject, cpuSeconds / seconds, (user + system) / 1e6 / seconds);
  return result.done / cpuSeconds;
}
