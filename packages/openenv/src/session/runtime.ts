import type { EnvironmentDefinition } from "../environment/environment.js";
import { createToolSet, type ToolSet } from "../environment/tools/tool-set.js";
import { MAX_MESSAGE_ITEMS } from "../protocol/codec/json.js";
import { type Log, silentLog } from "../util/log.js";
import { createValidator, type Validator } from "../validation/validate.js";
import { Statistics } from "./statistics/statistics.js";

export type Mode = "simulation" | "production";

/** What all sessions of one server share. */
export interface Runtime {
  /** Different from that of every other one of this process. */
  readonly number: number;
  readonly definition: EnvironmentDefinition;
  readonly validator: Validator;
  /** The tools offered in this mode; undefined for an environment that declares none. */
  readonly tools: ToolSet | undefined;
  readonly mode: Mode;
  readonly log: Log;
  readonly statistics: Statistics;
  /** Stands before session ids: says which server of a cluster has the session. */
  readonly idPrefix: string;
  /** Values and keys that one frame or body may hold. */
  readonly maxMessageItems: number;
  /** Largest answer that is sent, bytes. */
  readonly maxAnswerBytes: number;
  /** Only the orchestrator may reset, step and ask for the state. */
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
    guarded: options.guarded ?? false,
  };
}
