import * as z from "zod";
import { RESET_KEYS } from "../protocol/codec/codec.js";
// The entry is imported, so that the declarations of a program can name these types.
import type { ContractFingerprint, SchemaBody } from "../protocol/index.js";
import { hashSchemas } from "../protocol/schema/json-schema.js";
import type { Members } from "../util/types.js";
import { type ActionSchema, fieldsOf, objectsOf } from "./action-variants.js";
import { renderSchemas } from "./json-schema/schema.js";
import { type AcceptedParts, NOT_AN_ACTION, notAnObject, type PartSchema } from "./part-types.js";
import {
  type AsZodAction,
  type AsZodObject,
  isForeignSchema,
  isZod3,
  toZodAction,
  toZodObject,
} from "./standard-schema.js";
import { CALL_TOOL_ACTION, type CallToolAction, type ToolObservation, toolObservation } from "./tools/tool-schemas.js";
import { type AsZodTools, defineTools, type GivenTools, type NoTools, type Tools } from "./tools/tools.js";
import { discriminatorOf } from "./zod-tree.js";

/** Any object schema of an author. */
export type ObjectSchema = z.ZodObject;
type NoFields = z.ZodObject<Record<never, never>>;

/**
 * The parts are zod objects, or object schemas of any library that implements Standard Schema. The action may be a union
 * of objects.
 */
export interface ContractOptions<
  A extends PartSchema,
  O extends PartSchema,
  S extends PartSchema,
  R extends PartSchema,
  T extends GivenTools = NoTools,
> {
  /** The environment's name, in snake case by convention: `counter_env`. */
  name: string;
  /** The environment's version; default `1.0.0`, or the version in openenv.yaml with `openenv serve`. */
  version?: string;
  description?: string;
  /** What an agent sends in a step: an object or a union of objects. Unknown fields are rejected. */
  action: A;
  /** What reset and step return. Unknown fields are rejected. `reward`, `done` and `metadata` are not part of it. */
  observation: O;
  /** What `state` returns in addition to `episode_id` and `step_count`, which the server adds. */
  state?: S;
  /** The environment's own reset options, in addition to `seed`, `episode_id`, `split` and `index`. */
  reset?: R;
  /** The tools an agent can call in addition to or instead of the action: see {@link defineTools}. */
  tools?: T;
  /**
   * The reward of a step that lists or calls tools, unless `afterTool` or a rubric decides it; default 0. With null it is
   * null, as in the Python package.
   */
  toolReward?: 0 | null;
}

/** Options of a contract without an action: an agent acts by calling tools. */
export interface ToolContractOptions<
  T extends GivenTools,
  O extends PartSchema,
  S extends PartSchema,
  R extends PartSchema,
> extends Omit<ContractOptions<PartSchema, O, S, R, T>, "action" | "observation"> {
  action?: undefined;
  /** What reset returns; default `{}`. */
  observation?: O;
  tools: T;
}

/** The single source of types, validation, JSON Schema and typed clients of one environment. */
export interface Contract<
  A extends ActionSchema = ActionSchema,
  O extends ObjectSchema = ObjectSchema,
  S extends ObjectSchema = ObjectSchema,
  R extends ObjectSchema = ObjectSchema,
  T extends Tools = Tools,
  F extends ObjectSchema = O,
> {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly action: A;
  readonly observation: O;
  readonly state: S;
  readonly reset: R;
  readonly tools: T;
  readonly toolReward: 0 | null;
  /** The observation of reset; with `toolsOnly` it differs from the observation of steps. */
  readonly resetObservation: F;
  /** True when the only action is to call a tool. */
  readonly toolsOnly: boolean;
  /** The four JSON Schemas of `GET /schema`, built on first use. */
  schemas(): SchemaBody;
  /** Version and schema hash, as in `GET /metadata`. */
  fingerprint(): Promise<ContractFingerprint>;
}

/** What a client sends as action; fields with defaults may be left out. */
export type ActionInput<C extends Contract> = z.input<C["action"]>;
/** What the environment's step receives. */
export type Action<C extends Contract> = z.output<C["action"]>;
/** What the environment returns as observation; fields with defaults may be left out. */
export type ObservationInput<C extends Contract> = z.input<C["observation"]>;
/** What a client receives as observation. */
export type Observation<C extends Contract> = z.output<C["observation"]>;
export type StateInput<C extends Contract> = Members<z.input<C["state"]>>;
export type State<C extends Contract> = Members<z.output<C["state"]>>;
export type ResetInput<C extends Contract> = Members<z.input<C["reset"]>>;
export type ResetFields<C extends Contract> = Members<z.output<C["reset"]>>;

export const DEFAULT_VERSION = "1.0.0";

const RESERVED = {
  action: ["metadata"],
  observation: ["reward", "done", "metadata"],
  state: ["episode_id", "step_count"],
  reset: [...RESET_KEYS, "episodeId", "timeoutMs", "signal", "rng", "now", "record"],
} as const;

/**
 * Declares the data that an environment receives and returns. Server, clients and tools use the same contract.
 * With `tools` the action may be omitted.
 * @throws TypeError when a part is not an object schema or declares a reserved field of the protocol;
 * OpenEnvError INVALID_TOOL as {@link defineTools} does.
 */
export function defineContract<
  const T extends GivenTools,
  O extends PartSchema = NoFields,
  S extends PartSchema = NoFields,
  R extends PartSchema = NoFields,
>(
  options: ToolContractOptions<T, O, S, R> & Partial<AcceptedParts<{ observation: O; state: S; reset: R }>>,
): Contract<
  CallToolAction,
  ToolObservation<AsZodObject<O>>,
  AsZodObject<S>,
  AsZodObject<R>,
  AsZodTools<T>,
  AsZodObject<O>
>;
export function defineContract<
  A extends PartSchema,
  O extends PartSchema,
  S extends PartSchema = NoFields,
  R extends PartSchema = NoFields,
  const T extends GivenTools = NoTools,
>(
  options: ContractOptions<A, O, S, R, T> &
    AcceptedParts<{ action: A; observation: O }> &
    Partial<AcceptedParts<{ state: S; reset: R }>>,
): Contract<AsZodAction<A>, AsZodObject<O>, AsZodObject<S>, AsZodObject<R>, AsZodTools<T>>;
export function defineContract(options: AnyOptions): Contract {
  const { name, version = DEFAULT_VERSION, description = "", toolReward = 0 } = options;
  if (!name) throw new TypeError('A contract needs a name: defineContract({ name: "counter_env", … }).');
  if (name.toLowerCase() === "session") {
    throw new TypeError(
      '"session" is not a valid name of a contract: /session/ is the address of sessions. Choose another name.',
    );
  }
  const tools: Tools = defineTools(options.tools ?? {});
  const toolsOnly = options.action === undefined && options.tools !== undefined;
  const given = {
    action: toolsOnly ? CALL_TOOL_ACTION : options.action,
    observation: toolsOnly ? (options.observation ?? z.object({})) : options.observation,
    state: options.state ?? z.object({}),
    reset: options.reset ?? z.object({}),
  };
  const parts = {
    action: toAction(given.action),
    observation: toObject("observation", given.observation),
    state: toObject("state", given.state),
    reset: toObject("reset", given.reset),
  };
  const shown = parts.observation;
  if (toolsOnly) parts.observation = toolObservation(shown);
  else if (options.tools !== undefined) checkOwnAction(parts.action);

  let schemas: SchemaBody | undefined;
  let hash: Promise<string> | undefined;
  const contract: Contract = {
    name,
    version,
    description,
    ...parts,
    tools,
    toolReward,
    resetObservation: shown,
    toolsOnly,
    schemas: () => (schemas ??= renderSchemas(contract)),
    fingerprint: async () => ({
      version: contract.version,
      hash: await (hash ??= hashSchemas(contract.schemas())),
    }),
  };
  return contract;
}

type Part = keyof typeof RESERVED;
interface AnyOptions {
  name: string;
  version?: string;
  description?: string;
  action?: PartSchema | undefined;
  observation?: PartSchema;
  state?: PartSchema;
  reset?: PartSchema;
  tools?: GivenTools;
  toolReward?: 0 | null;
}

/** `type` distinguishes a tool call from the contract's own action. */
function checkOwnAction(action: ActionSchema): void {
  if (!("type" in fieldsOf(action))) return;
  throw new TypeError(
    'The action of a contract with tools must not declare "type": it says whether a step is list_tools or call_tool.',
  );
}

function toAction(given: unknown): ActionSchema {
  const schema = isForeignSchema(given) ? toZodAction(given, placeOf("action")) : given;
  const objects = objectsOf(schema);
  if (objects === undefined) throw refusal("action", given);
  for (const object of objects) checkFields("action", object);
  checkDiscriminators(schema as ActionSchema);
  return schema as ActionSchema;
}

/** The Python package takes no action without a tag either, and zod takes only one variant that has a default for it. */
function checkDiscriminators(schema: ActionSchema): void {
  if (!(schema instanceof z.ZodUnion)) return;
  const options = schema.options as readonly ActionSchema[];
  const key = discriminatorOf(schema);
  if (key !== undefined && options.some(({ _zod }) => _zod.propValues?.[key]?.has(undefined))) {
    throw new TypeError(
      `The discriminator "${key}" of an action must not be optional or have a default: every action names its variant.`,
    );
  }
  for (const option of options) checkDiscriminators(option);
}

/** What the environment sends is described as it is after validation, the rest as it is before. */
const DIRECTIONS = { observation: "output", state: "output", reset: "input" } as const;

function toObject(part: Exclude<Part, "action">, given: unknown): ObjectSchema {
  const schema = isForeignSchema(given) ? toZodObject(given, placeOf(part), DIRECTIONS[part]) : given;
  if (!(schema instanceof z.ZodObject)) throw refusal(part, given);
  checkFields(part, schema as ObjectSchema);
  return schema as ObjectSchema;
}

function placeOf(part: Part): string {
  return `The ${part} of a contract`;
}

function refusal(part: Part, given: unknown): TypeError {
  const place = placeOf(part);
  if (isZod3(given)) {
    return new TypeError(`${place} is a schema of zod 3; openenv-ts needs zod 4: npm install zod@4.`);
  }
  return new TypeError(part === "action" ? NOT_AN_ACTION : notAnObject(part));
}

function checkFields(part: Part, { shape }: ObjectSchema): void {
  for (const key of RESERVED[part]) {
    if (key in shape) {
      throw new TypeError(`The ${part} must not declare "${key}", which the protocol has: remove or rename it.`);
    }
  }
}
