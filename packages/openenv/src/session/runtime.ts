import { RunQueue } from "#parts/sockets/scheduling";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { createToolSet, type ToolSet } from "../environment/tools/tool-set.js";
import { MAX_MESSAGE_ITEMS } from "../protocol/codec/json.js";
import { type Log, silentLog } from "../util/log.js";
import { createValidator, type Validator } from "../validation/validate.js";
import { RESTORE_DEFAULTS, type RestoreLimits } from "./restore-limits.js";
import { Statistics } from "./statistics/statistics.js";

export type Mode = "simulation" | "production";

/** The objects and settings that all sessions of one server share. */
export interface Runtime {
  /** Unique in this process. */
  readonly number: number;
  readonly definition: EnvironmentDefinition;
  readonly validator: Validator;
  /** The tools offered in this mode; undefined for an environment that declares none. */
  readonly tools: ToolSet | undefined;
  readonly mode: Mode;
  readonly log: Log;
  readonly statistics: Statistics;
  /** Prefix of session ids: identifies the worker of a cluster that owns the session. */
  readonly idPrefix: string;
  /** Maximum number of values and keys in one frame or body. */
  readonly maxMessageItems: number;
  /** Maximum size of an answer in bytes. */
  readonly maxAnswerBytes: number;
  readonly restore: RestoreLimits;
  /** Shares the event loop between connections and restores. */
  readonly runQueue: RunQueue;
  /** Only the orchestrator may call reset, step and state. */
  readonly guarded: boolean;
}

const MAX_ANSWER_BYTES = 100 * 1024 * 1024;
let runtimes = 0;

export function createRuntime(definition: EnvironmentDefinition, options: Partial<Runtime> = {}): Runtime {
  const mode = options.mode ?? "simulation";
  return {
    number: ++runtimes,
    definition,
    validator: createValidator(definition.contract),
    tools: createToolSet(definition.contract.tools, mode),
    mode,
    log: options.log ?? silentLog,
    statistics: new Statistics(),
    idPrefix: options.idPrefix ?? "",
    maxMessageItems: options.maxMessageItems ?? MAX_MESSAGE_ITEMS,
    maxAnswerBytes: options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
    restore: options.restore ?? RESTORE_DEFAULTS,
    runQueue: new RunQueue(),
    guarded: options.guarded ?? false,
  };
}
