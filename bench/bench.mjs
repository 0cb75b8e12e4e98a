import { loadavg } from "node:os";
import { interleave } from "openenv-ts/bench";
import { findPython, startServer } from "./servers.mjs";

/** What every experiment gets: the servers, how thorough to be, and where to say what a reader has to know. */
export class Bench {
  python = findPython();
  notes = [];
  /** How much of a core servers and load used, by subject. */
  busy = {};
  #kept = new Map();

  constructor({ quick }) {
    this.quick = quick;
  }

  /**
   * Measures the three subjects in turn, each with a number: `measure(subject)`. Python takes part in the first
   * `pythonRounds` rounds.
   */
  interleave(rounds, measure, { pythonRounds = rounds } = {}) {
    const subjects = { ours: () => measure("ours"), control: () => measure("control") };
    if (!this.python.missing && pythonRounds > 0) {
      subjects.python = async (round) => (round < pythonRounds ? await measure("python") : null);
    }
    const log = (name, run) => async (round) => {
      const value = await run(round);
      if (value !== null) process.stderr.write(`  ${name} ${value.toPrecision(4)}, load ${loadavg()[0].toFixed(1)}\n`);
      return value;
    };
    return interleave(
      rounds,
      Object.fromEntries(Object.entries(subjects).map(([name, run]) => [name, log(name, run)])),
    );
  }

  /**
   * Runs `work(server)` with a server of its own. Python takes seconds to start, so one of a kind is kept for all
   * rounds and experiments.
   */
  async withServer(subject, environment, work) {
    if (subject === "python") return work(await this.#keep(environment));
    const server = await startServer(subject, environment);
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  }

  /** Notes how busy the server and the load were: the load must not be the limit. */
  noteBusy(subject, server, load) {
    (this.busy[subject] ??= []).push({ server, load });
  }

  async close() {
    for (const server of this.#kept.values()) await server.close();
    this.#kept.clear();
  }

  async #keep(environment) {
    if (!this.#kept.has(environment)) this.#kept.set(environment, await startServer("python", environment));
    return this.#kept.get(environment);
  }
}
