import { loadavg } from "node:os";
import { interleave } from "@openenv-ts/bench";
import { findPython, startServer } from "./servers.mjs";

const SUBJECTS = ["ours", "control", "python", "python async"];

/** The context of every part of a benchmark: the servers, the options, and notes for the report. */
export class Bench {
  quick;
  python = findPython();
  /** Share of a core that server and load used while rates were measured, by subject. */
  busy = {};
  /** One sentence for each measurement that was not possible. */
  missing = [];
  #kept = new Map();

  constructor({ quick }) {
    this.quick = quick;
  }

  /** The available subjects, ours first. */
  subjects = this.python.missing ? SUBJECTS.slice(0, 2) : SUBJECTS;

  /** Measures subjects in turn; a subject with fewer rounds takes part in the first ones. */
  interleave(rounds, measure) {
    const asked = Object.entries(rounds).filter(([subject]) => this.subjects.includes(subject));
    const measured = asked.map(([subject, times]) => [
      subject,
      async (round) => {
        if (round >= times) return null;
        const value = await measure(subject);
        process.stderr.write(
          `  ${subject} ${value?.toPrecision(4) ?? "failed"} (load average ${loadavg()[0].toFixed(1)})\n`,
        );
        return value;
      },
    ]);
    return interleave(Math.max(...Object.values(rounds)), Object.fromEntries(measured));
  }

  /**
   * Runs `work(server)` with a separate server. Python servers take seconds to start, so one of each kind is shared by
   * all rounds and parts.
   */
  async withServer(subject, environment, work) {
    if (subject.startsWith("python")) return work(await this.#keep(subject, environment));
    const server = await startServer(subject, environment);
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  }

  async close() {
    await Promise.all([...this.#kept.values()].map((server) => server.close()));
    this.#kept.clear();
  }

  async #keep(subject, environment) {
    const key = `${subject} ${environment}`;
    if (!this.#kept.has(key)) this.#kept.set(key, await startServer(subject, environment));
    return this.#kept.get(key);
  }
}
