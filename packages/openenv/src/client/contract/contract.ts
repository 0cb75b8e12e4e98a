import type { ContractFingerprint, SchemaBody } from "../../protocol/http.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { Members } from "../../util/types.js";

/** A schema of the author, as far as a client needs it: any zod object fits. */
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

/** What a client needs of a tool; without `input` it takes no arguments, without `output` it may return any JSON. */
export interface ClientTool {
  readonly description?: string;
  readonly input?: ClientSchema;
  readonly output?: ClientSchema;
}

/** What a client needs of a contract; what `defineContract` returns fits. */
export interface ClientContract {
  readonly name: string;
  readonly action: ClientSchema;
  readonly observation: ClientSchema;
  readonly state: ClientSchema;
  readonly reset: ClientSchema;
  readonly tools?: Readonly<Record<string, ClientTool>>;
  /** There is no action but to call a tool. */
  readonly toolsOnly?: boolean;
  schemas(): SchemaBody;
  fingerprint(): Promise<ContractFingerprint>;
}

/** What a client without a contract works with: plain JSON objects. */
export interface GenericContract extends ClientContract {
  readonly action: ClientSchema<JsonObject, JsonObject>;
  readonly observation: ClientSchema<JsonObject, JsonObject>;
  readonly state: ClientSchema<JsonObject, JsonObject>;
  readonly reset: ClientSchema<JsonObject, JsonObject>;
}

/** What is sent: fields with defaults may be left out. */
export type Sent<S extends ClientSchema> = Members<NonNullable<S["~standard"]["types"]>["input"]>;
/** What is received: all declared fields. */
export type Received<S extends ClientSchema> = Members<NonNullable<S["~standard"]["types"]>["output"]>;
