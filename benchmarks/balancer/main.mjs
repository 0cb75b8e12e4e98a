/**
 * `npm run bench -- balancer`: the cost of a balancer of `openenv deploy render`, and a check of the predictions for large
 * deployments (docs/design/scale.md). Options: see harness/suite.mjs; OPENENV_ENVOY names an Envoy.
 */
import { interleave } from "@openenv-ts/bench";
import { hasBalancer, startBalancer } from "../harness/balancer.mjs";
import { startCluster } from "../harness/clusters.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as checks from "./checks.mjs";
import * as drain from "./drain.mjs";
import * as held from "./held.mjs";
import * as model from "./model.mjs";
import * as rates from "./rates.mjs";

const CAPACITY = 9_000;

class BalancerBench {
  quick;
  subjects = ["haproxy", "envoy"].filter(hasBalancer);

  constructor({ quick }) {
    this.quick = quick;
  }

  /** Runs `work(balancer)` with a balancer of this kind for `servers` servers of one worker each. */
  async withBalancer(kind, work, { servers = 1, addresses = 1 } = {}) {
    const running = [];
    try {
      for (let number = 0; number < servers; number++) {
        running.push(await startCluster("node", { env: { MAX_CONCURRENT_ENVS: String(CAPACITY) } }));
      }
      // A balancer does not notice that several of its servers are the same process.
      const named = Array.from({ length: servers * addresses }, (_, index) => running[index % servers]);
      const balancer = await startBalancer(named, { kind, capacity: Math.ceil(CAPACITY / addresses) });
      running.push(balancer);
      return await work(balancer);
    } finally {
      await Promise.all(running.toReversed().map((one) => one.close()));
    }
  }

  interleave(rounds, measure, kinds = this.subjects) {
    const measured = kinds.filter((kind) => this.subjects.includes(kind)).map((kind) => [kind, () => measure(kind)]);
    return interleave(rounds, Object.fromEntries(measured));
  }

  close() {}
}

await runSuite({
  title: "Cost of a balancer",
  name: "balancer",
  parts: { rates, held, checks, model, drain },
  createBench: (options) => new BalancerBench(options),
  notes: () => [
    "The configurations are those of `openenv deploy render`; the servers serve `envs/benchmark` with one worker each.",
    "CPU-seconds, memory and file descriptors are those of the balancer, as counted by the operating system.",
    "A thousand servers are a thousand lines for the same server, which gets a thousand health checks a second.",
    "Replaced: each of two servers gets SIGTERM, with fifteen seconds to drain, when its replacement answers; players step a " +
      "session every 100 ms for two seconds and open the next.",
    "Predicted: what 1,000 sessions took, times eight, for 8,000 sessions over two servers; of a step, what it took with " +
      "1,000; docs/design/scale.md continues from there.",
  ],
});
