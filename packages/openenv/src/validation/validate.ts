import type { Contract } from "../contract/contract.js";
import type { JsonObject } from "../protocol/messages.js";
import type { JsonSafe } from "./json-safe.js";
import { type CheckedTransition, createOutputCheck, createTransitionCheck } from "./output.js";
import {
  type Checked,
  type CheckedAction,
  createActionCheck,
  createResetCheck,
  type ParsedReset,
} from "./parse-input.js";

/** Validates the input and output of environments against one contract. Stateless, shared by all sessions. */
export interface Validator {
  /** Checks a received action; `metadata`, which every action may have, is separated. */
  action(value: unknown): Checked<CheckedAction>;
  /** Checks the data of a reset. */
  reset(data: JsonObject): Checked<ParsedReset>;
  /**
   * Checks a state and keeps undeclared members. @throws InvalidOutputError naming the paths, as the methods below do.
   */
  state(value: unknown): JsonSafe<JsonObject>;
  /** Checks the result of step. `truncated` implies `done`. */
  transition(value: unknown): CheckedTransition;
  /** Checks the result of reset as {@link transition} does. */
  resetTransition(value: unknown): CheckedTransition;
  /** Does the same as {@link transition} with an observation that needs no check. */
  toolTransition(value: unknown): CheckedTransition;
}

/** Compiles the checks of a contract once; their cost per step is decided here. */
export function createValidator(contract: Contract): Validator {
  const observation = createOutputCheck(contract.observation, { name: "observation", unchecked: false });
  const first =
    contract.resetObservation === contract.observation
      ? observation
      : createOutputCheck(contract.resetObservation, { name: "observation", unchecked: false });
  return {
    action: createActionCheck(contract.action),
    reset: createResetCheck(contract.reset),
    state: createOutputCheck(contract.state, { name: "state", unchecked: true }),
    transition: createTransitionCheck(observation),
    resetTransition: createTransitionCheck(first),
    toolTransition: createTransitionCheck((value) => ({ value: value as JsonObject, nonFinite: 0 })),
  };
}
