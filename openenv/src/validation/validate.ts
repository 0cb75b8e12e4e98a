import * as z from "zod";
import type { Contract, ObjectSchema } from "../contract/contract.js";
import type { JsonObject } from "../protocol/messages.js";
import { createOutputCheck } from "./output.js";
import { type Checked, parseInput, withFields } from "./parse-input.js";
import { checkPlain, InvalidOutputError, type Plain } from "./plain.js";
import { createResetCheck, type ResetInput } from "./reset-input.js";

export type { Checked } from "./parse-input.js";
export { InvalidOutputError } from "./plain.js";
export type { ResetInput } from "./reset-input.js";

export interface CheckedAction {
  action: JsonObject;
  metadata: Readonly<JsonObject>;
}

/** What reset and step returned, ready to be sent. */
export interface CheckedTransition {
  /** An object of its own; lists of numbers in it are still the environment's. */
  observation: JsonObject;
  reward: number | boolean | null;
  done: boolean;
  metadata: JsonObject;
  nonFinite: number;
}

/** Holds what comes in and what an environment gives against one contract. Stateless; one serves all sessions. */
export interface Validator {
  /** An action as it was sent; `metadata`, which every action may have, is split off. */
  action(value: unknown): Checked<CheckedAction>;
  /** The data of a reset. */
  reset(data: JsonObject): Checked<ResetInput>;
  /** @throws InvalidOutputError naming the paths, as do all below. */
  observation(value: unknown): Plain<JsonObject>;
  /** Members that the contract does not declare are kept. */
  state(value: unknown): Plain<JsonObject>;
  /** Number, boolean or null. NaN and infinities become null: compare to count them. */
  reward(value: unknown): number | boolean | null;
  metadata(value: unknown): Plain<JsonObject>;
  /** All that step returned. `truncated` implies `done`. */
  transition(value: unknown): CheckedTransition;
  /** As {@link transition}, for what reset returned. */
  resetTransition(value: unknown): CheckedTransition;
  /** As {@link transition}, with an observation that needs no check. */
  toolTransition(value: unknown): CheckedTransition;
}

const NO_METADATA: JsonObject = Object.freeze({});
const NOTHING_MORE: Plain<JsonObject> = Object.freeze({ value: NO_METADATA, nonFinite: 0 });
const ACTION_FIELDS = { metadata: z.record(z.string(), z.unknown()).optional() };

/** Builds the checks of a contract once; what they cost a step is decided here. */
export function createValidator(contract: Contract): Validator {
  const observation = createOutputCheck(contract.observation, { name: "observation", open: false });
  const first =
    contract.resetObservation === contract.observation
      ? observation
      : createOutputCheck(contract.resetObservation, { name: "observation", open: false });
  return {
    action: createActionCheck(contract.action),
    reset: createResetCheck(contract.reset),
    observation,
    state: createOutputCheck(contract.state, { name: "state", open: true }),
    reward: checkReward,
    metadata: checkMetadata,
    transition: createTransitionCheck(observation),
    resetTransition: createTransitionCheck(first),
    toolTransition: createTransitionCheck(asItIs),
  };
}

/** Makes the check of one kind of action. */
export function createActionCheck(schema: ObjectSchema): (value: unknown) => Checked<CheckedAction> {
  const compiled = z.compile(withFields(schema, ACTION_FIELDS, z.never()));
  return (value) => {
    const checked = parseInput(compiled, value);
    if (!checked.ok) return checked;
    if (!("metadata" in checked.value)) return { ok: true, value: { action: checked.value, metadata: NO_METADATA } };
    const { metadata, ...action } = checked.value;
    return { ok: true, value: { action, metadata: (metadata ?? NO_METADATA) as JsonObject } };
  };
}

function asItIs(value: unknown): Plain<JsonObject> {
  return { value: value as JsonObject, nonFinite: 0 };
}

/** Makes the check of what reset or step returned, with observations of one kind. */
function createTransitionCheck(observe: (value: unknown) => Plain<JsonObject>): (value: unknown) => CheckedTransition {
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new InvalidOutputError(
        `reset and step return { observation, reward?, done?, metadata? }, not ${describe(value)}`,
      );
    }
    const { reward, done, truncated, metadata, observation } = value as Record<string, unknown>;
    for (const key in value) if (!Object.hasOwn(MEMBERS, key)) throw unknownMember(key, observation);
    if (observation === undefined) throw unknownMember("", observation);
    if (done !== undefined && typeof done !== "boolean") throw wrongFlag("done", done);
    if (truncated !== undefined && typeof truncated !== "boolean") throw wrongFlag("truncated", truncated);
    const seen = observe(observation);
    const given = checkReward(reward);
    const more = metadata === undefined || metadata === null ? NOTHING_MORE : checkMetadata(metadata);
    return {
      observation: seen.value,
      reward: given,
      done: done === true || truncated === true,
      metadata: more.value,
      nonFinite: seen.nonFinite + more.nonFinite + (given === null && typeof reward === "number" ? 1 : 0),
    };
  };
}

const MEMBERS = { observation: 0, reward: 0, done: 0, truncated: 0, metadata: 0 };

/** A misspelled member would be a reward that is silently lost. */
function unknownMember(key: string, shown: unknown): InvalidOutputError {
  const what = shown === undefined ? "there is no observation" : `"${key}" is none of its members`;
  return new InvalidOutputError(
    `reset and step return { observation, reward?, done?, truncated?, metadata? }: ${what}`,
  );
}

function checkReward(reward: unknown): number | boolean | null {
  if (typeof reward === "number") return Number.isFinite(reward) ? reward : null;
  if (reward === undefined || reward === null) return null;
  if (typeof reward === "boolean") return reward;
  throw new InvalidOutputError(`reward: must be a number, a boolean or null, not ${describe(reward)}`);
}

function wrongFlag(name: string, value: unknown): InvalidOutputError {
  return new InvalidOutputError(`${name}: must be true or false, not ${describe(value)}`);
}

function checkMetadata(metadata: unknown): Plain<JsonObject> {
  if (metadata === undefined || metadata === null) return NOTHING_MORE;
  const checked = checkPlain(metadata, "metadata");
  if (typeof checked.value === "object" && checked.value !== null && !Array.isArray(checked.value)) {
    return checked as Plain<JsonObject>;
  }
  throw new InvalidOutputError(`metadata: must be an object, not ${describe(metadata)}`);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? (value.constructor?.name ?? "an object") : `a ${typeof value}`;
}
