import type { SchemaBody } from "../../protocol/http.js";
import type { JsonObject } from "../../protocol/messages.js";
import { hashSchemas } from "../../protocol/schema/json-schema.js";
import type { ClientContract, ClientSchema, ClientTool } from "./contract.js";

/** The types of an environment, as a generated client declares them. */
export interface SchemaTypes {
  action: object;
  observation: object;
  state: object;
  /** The arguments and the result of each tool, by its name. */
  tools?: object;
}

/** A contract of which there are types and JSON Schemas, and no code. */
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
 * Makes a contract for `connect` from what `GET /schema` answers, as generated clients do. The schemas are compared
 * with the server's when a client connects; actions are the server's to check.
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
