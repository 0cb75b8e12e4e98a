import type { JsonObject } from "../../protocol/messages.js";
import type { ContractFingerprint, SchemaBody } from "../../protocol/published.js";
import type { Members } from "../../util/types.js";

/** The part of an author's schema that a client uses: any zod object fits. */
export interface ClientSchema<I = unknown, O = unknown> {
  safeParse(value: unknown): { success: true; data: O } | { success: false; error: { issues: readonly SchemaIssue[] } };
  readonly "~standard": { readonly types?: { readonly input: I; readonly output: O } | undefined };
}

export interface SchemaIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
}

/** The part of a tool that a client uses. Without `input` it has no arguments; without `output` it returns any JSON. */
export interface ClientTool {
  readonly description?: string;
  readonly input?: ClientSchema;
  readonly output?: ClientSchema;
}

/** The part of a contract that a client uses; the result of `defineContract` fits. */
export interface ClientContract {
  readonly name: string;
  readonly action: ClientSchema;
  readonly observation: ClientSchema;
  /** The observation of reset, if it differs from that of steps. */
  readonly resetObservation?: ClientSchema;
  readonly state: ClientSchema;
  readonly reset: ClientSchema;
  readonly tools?: Readonly<Record<string, ClientTool>>;
  /** True when tool calls are the only actions. */
  readonly toolsOnly?: boolean;
  schemas(): SchemaBody;
  fingerprint(): Promise<ContractFingerprint>;
}

/** The contract of a client without one: plain JSON objects. */
export interface GenericContract extends ClientContract {
  readonly action: ClientSchema<JsonObject, JsonObject>;
  readonly observation: ClientSchema<JsonObject, JsonObject>;
  readonly state: ClientSchema<JsonObject, JsonObject>;
  readonly reset: ClientSchema<JsonObject, JsonObject>;
}

/** The type that a client sends: fields with defaults are optional. */
export type Sent<S extends ClientSchema> = Members<NonNullable<S["~standard"]["types"]>["input"]>;
/** The type that a client receives: all declared fields. */
export type Received<S extends ClientSchema> = Members<NonNullable<S["~standard"]["types"]>["output"]>;
/** The type of the observation that reset returns. */
export type ReceivedByReset<C extends ClientContract> = C extends { resetObservation: infer S extends ClientSchema }
  ? Received<S>
  : Received<C["observation"]>;
