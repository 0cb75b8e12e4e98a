import type { SchemaBody } from "../protocol/http.js";
import { hashSchemas } from "../protocol/json-schema.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, ClientSchema } from "./contract.js";

/** The types of an environment, as a generated client declares them. */
export interface SchemaTypes {
  action: object;
  observation: object;
  state: object;
}

/** A contract of which there are types and JSON Schemas, and no code. */
export interface SchemaContract<T extends SchemaTypes> extends ClientContract {
  readonly action: ClientSchema<T["action"], T["action"]>;
  readonly observation: ClientSchema<T["observation"], T["observation"]>;
  readonly state: ClientSchema<T["state"], T["state"]>;
  readonly reset: ClientSchema<JsonObject, JsonObject>;
}

/**
 * Makes a contract for `connect` from what `GET /schema` answers, as generated clients do. The schemas are compared
 * with the server's when a client connects; actions are the server's to check.
 */
export function contractFromSchemas<T extends SchemaTypes>(name: string, schemas: SchemaBody): SchemaContract<T> {
  let hash: Promise<string> | undefined;
  return {
    name,
    action: unchecked<T["action"]>(),
    observation: unchecked<T["observation"]>(),
    state: unchecked<T["state"]>(),
    reset: unchecked<JsonObject>(),
    ...(schemas.tools && { tools: Object.fromEntries(schemas.tools.map((tool) => [tool.name, tool])) }),
    schemas: () => schemas,
    fingerprint: async () => ({ version: "1.0.0", hash: await (hash ??= hashSchemas(schemas)) }),
  };
}

function unchecked<V>(): ClientSchema<V, V> {
  return { safeParse: (data) => ({ success: true, data: data as V }), "~standard": {} };
}
