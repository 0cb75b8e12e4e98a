import type { Log } from "../../util/log.js";
import { copyJson, HookCaller, startPart } from "./hook.js";
import type { PluginCentral, PluginRefusal, ServerPlugin } from "./plugin.js";

/** An answer of a central part, as it is sent between processes. */
export type CentralAnswer = { answer: unknown } | PluginRefusal;

/** The parts of plugins that all workers of a server share. */
export class Central {
  readonly #parts = new Map<string, { part: PluginCentral; caller: HookCaller }>();
  readonly #log: Log;
  /** Workers that have ended. A message of one may still arrive: what it takes would never be given back. */
  readonly #ended = new Set<number>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @throws ConfigError that names the plugin that failed; {@link close} ends those before it. */
  async start(plugins: readonly ServerPlugin[]): Promise<void> {
    for (const plugin of plugins) {
      const part = await startPart(plugin.name, () => plugin.central?.(this.#log));
      if (part !== undefined) this.#parts.set(plugin.name, { part, caller: new HookCaller(plugin.name, this.#log) });
    }
  }

  /** Answers a message of a worker. Never rejects. */
  async answer(plugin: string, message: unknown, worker: number): Promise<CentralAnswer> {
    const { part, caller } = this.#parts.get(plugin) ?? {};
    if (part === undefined || caller === undefined) return failed(`The plugin "${plugin}" has no central().`);
    if (this.#ended.has(worker)) return failed(`Worker ${worker} has ended.`);
    const answer = async () => ({ answer: copyJson(await part.answer(message, worker)) });
    return (await caller.call("central", answer)) as CentralAnswer;
  }

  workerEnded(worker: number): void {
    this.#ended.add(worker);
    for (const { part, caller } of this.#parts.values()) {
      void caller.call("workerEnded", () => part.workerEnded?.(worker));
    }
  }

  async close(): Promise<void> {
    const parts = [...this.#parts.values()].reverse();
    this.#parts.clear();
    for (const { part, caller } of parts) await caller.call("stop", () => part[Symbol.asyncDispose]?.());
  }
}

function failed(message: string): PluginRefusal {
  return { code: "PLUGIN_FAILED", message };
}
