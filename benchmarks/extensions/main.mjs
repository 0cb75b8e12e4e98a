/** `npm run bench -- extensions`: what the extensions of `/ws` gain, each compared with the plain protocol, on one server. */
import { interleave } from "@openenv-ts/bench";
import { Bench } from "../harness/bench.mjs";
import { runSuite } from "../harness/suite.mjs";
import * as batch from "./batch.mjs";
import * as binary from "./binary.mjs";
import * as fork from "./fork.mjs";
import * as journals from "./journals.mjs";
import * as resume from "./resume.mjs";

/** Variants on the same kind of server take turns. */
class Comparison extends Bench {
  subjects = ["extension", "plain"];
  python = undefined;

  compare(variants, rounds, measure) {
    const measured = Object.entries(variants).map(([name, variant]) => [
      name,
      async () => {
        const value = await measure(variant);
        process.stderr.write(`  ${name} ${value.toPrecision(4)}\n`);
        return value;
      },
    ]);
    return interleave(rounds, Object.fromEntries(measured));
  }
}

await runSuite({
  title: "Gain of the extensions",
  name: "extensions",
  parts: { batch, binary, fork, resume, journals },
  createBench: (options) => new Comparison(options),
  notes: () => [
    "One server of this package, the variants in turn, each round; values are medians (in parentheses the smallest and the largest round), ratios medians of the rounds' ratios.",
    "`batch`: 64 sessions per frame over 4 sockets, compared with 64 sessions on separate sockets. `binary`: the same " +
      "observation as MessagePack and as JSON, 4 sockets. `resume`: numbered requests, each answer kept until the next request. " +
      "`fork`: the medians of 300 forks of an environment whose snapshot has 1,000 numbers, without isolation.",
    "CPU-seconds are those of the server, user and system, all threads. Savings of the client are not included.",
  ],
});
