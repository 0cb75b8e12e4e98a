import type { JsonObject } from "../../protocol/messages.js";
import type { SchemaBody } from "../../protocol/published.js";
import { hashSchemas } from "../../protocol/schema/json-schema.js";
import type { ClientContract, ClientSchema, ClientTool } from "./contract.js";

/** The types that a generated client declares for an environment. */
export interface SchemaTypes {
  action: object;
  observation: object;
  state: object;
  /** The arguments and the result of each tool, by tool name. */
  tools?: object;
}

/** A contract that consists of types and JSON Schemas, without code. */
export interface SchemaContract<T extends SchemaTypes> extends ClientContract {
  readonly action: ClientSchema<T["action"], T["action"]>;
  readonly observation: ClientSchema<T["observation"], T["observation"]>;
  readonly state: ClientSchema<T["state"], T["state"]>;
  readonly reset: ClientSchema<JsonObject, JsonObject>;
  readonly tools: SchemaTools<T["tools"]>;
}

type SchemaTools<T> = {
  readonly [K in keyof T]: T[K] extends { input: infer I; output: infer O }
    ? { input: ClientSchema<I, I>; output: ClientSchema<O, O> }
    : ClientTool;
};

/**
 * Creates a contract for `connect` from the body of `GET /schema`; generated clients use it. The schemas are compared
 * with the server's when a client connects; the server checks the actions.
 */
export function contractFromSchemas<T extends SchemaTypes>(name: string, schemas: SchemaBody): SchemaContract<T> {
  let hash: Promise<string> | undefined;
  const tool: ClientTool = { input: unchecked(), output: unchecked() };
  return {
    name,
    action: unchecked<T["action"]>(),
    observation: unchecked<T["observation"]>(),
    state: unchecked<T["state"]>(),
    reset: unchecked<JsonObject>(),
    tools: Object.fromEntries((schemas.tools ?? []).map(({ name }) => [name, tool])) as unknown as SchemaTools<
      T["tools"]
    >,
    schemas: () => schemas,
    fingerprint: async () => ({ version: "1.0.0", hash: await (hash ??= hashSchemas(schemas)) }),
  };
}

function unchecked<V>(): ClientSchema<V, V> {
  return { safeParse: (data) => ({ success: true, data: data as V }), "~standard": {} };
}
