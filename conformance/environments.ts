import type { EnvironmentDefinition } from "openenv-ts";
import type { ServeOptions } from "openenv-ts/server";
import { broken, counter, counterWithoutState, strictCounter } from "./environments/counter.js";
import { kinds } from "./environments/kinds.js";
import { asyncCounter, failingState, freeState, noArguments } from "./environments/odd.js";
import { tasked } from "./environments/tasks.js";
import { nanTools, slowTools, tools, toolsAndAction, toolsAndText } from "./environments/tools.js";
import { choices, variants } from "./environments/unions.js";

interface Served {
  environment: EnvironmentDefinition;
  options: ServeOptions;
}

/** Session timeout in seconds; recorded with 2 s. */
export const SHORT = 1;

/** The recorded environments by the name that transcripts give them, each with its recorded capacity; `strict` is ours. */
const ENVIRONMENTS: Readonly<Record<string, Served>> = {
  counter: { environment: counter, options: { maxConcurrentEnvs: 2 } },
  "counter-production": { environment: counter, options: { maxConcurrentEnvs: 1, mode: "production" } },
  "counter-timeout": { environment: counter, options: { maxConcurrentEnvs: 4, sessionTimeout: SHORT } },
  "counter-default-state": { environment: counterWithoutState, options: { maxConcurrentEnvs: 1 } },
  "counter-web": { environment: counter, options: { maxConcurrentEnvs: 2, webInterface: true } },
  "web-production": { environment: counter, options: { maxConcurrentEnvs: 1, mode: "production", webInterface: true } },
  strict: { environment: strictCounter, options: {} },
  reap1: { environment: counter, options: { maxConcurrentEnvs: 1, sessionTimeout: SHORT } },
  kinds: { environment: kinds, options: { maxConcurrentEnvs: 1 } },
  variants: { environment: variants, options: { maxConcurrentEnvs: 1 } },
  choices: { environment: choices, options: { maxConcurrentEnvs: 1 } },
  tasks: { environment: tasked, options: { maxConcurrentEnvs: 1 } },
  broken: { environment: broken, options: { maxConcurrentEnvs: 1 } },
  tools: { environment: tools, options: { maxConcurrentEnvs: 3 } },
  "tools-generic": { environment: toolsAndAction, options: { maxConcurrentEnvs: 3 } },
  "tools-other-action": { environment: toolsAndText, options: { maxConcurrentEnvs: 3 } },
  "nan-tools": { environment: nanTools, options: { maxConcurrentEnvs: 3 } },
  "slow-tools": { environment: slowTools, options: { maxConcurrentEnvs: 3 } },
  async: { environment: asyncCounter, options: { maxConcurrentEnvs: 1 } },
  noargs: { environment: noArguments, options: { maxConcurrentEnvs: 1 } },
  badstate: { environment: failingState, options: { maxConcurrentEnvs: 1 } },
  dictstate: { environment: freeState, options: { maxConcurrentEnvs: 1 } },
};

export function findServed(name: string): Served {
  const served = ENVIRONMENTS[name];
  if (served === undefined) throw new Error(`environments.ts has no "${name}"`);
  return served;
}
