import type { Contract } from "../contract/contract.js";
import type { JsonObject } from "../protocol/messages.js";
import type { JsonSafe } from "./json-safe.js";
import { type CheckedTransition, createOutputCheck, createTransitionCheck } from "./output.js";
import {
  type Checked,
  type CheckedAction,
  createActionCheck,
  createResetCheck,
  type ResetInput,
} from "./parse-input.js";

/** Holds what comes in and what an environment gives against one contract. Stateless; one serves all sessions. */
export interface Validator {
  /** An action as it was sent; `metadata`, which every action may have, is split off. */
  action(value: unknown): Checked<CheckedAction>;
  /** The data of a reset. */
  reset(data: JsonObject): Checked<ResetInput>;
  /** Members that the contract does not declare are kept. @throws InvalidOutputError naming the paths, as do all below. */
  state(value: unknown): JsonSafe<JsonObject>;
  /** All that step returned. `truncated` implies `done`. */
  transition(value: unknown): CheckedTransition;
  /** As {@link transition}, for what reset returned. */
  resetTransition(value: unknown): CheckedTransition;
  /** As {@link transition}, with an observation that needs no check. */
  toolTransition(value: unknown): CheckedTransition;
}

/** Builds the checks of a contract once; what they cost a step is decided here. */
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
