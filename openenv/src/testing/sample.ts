import type { Rng } from "../env/rng.js";

type Schema = Record<string, unknown>;

/** A value that fits a JSON Schema as `GET /schema` shows it. Text that must match a pattern is beyond it: give actions of your own. */
export function sampleValue(schema: Schema, rng: Rng, root: Schema = schema): unknown {
  const {
    $ref,
    anyOf,
    allOf,
    enum: choices,
    properties,
  } = schema as {
    $ref?: string;
    anyOf?: Schema[];
    allOf?: Schema[];
    enum?: unknown[];
    properties?: Record<string, Schema>;
  };
  if ($ref !== undefined) return sampleValue(definitionOf($ref, root), rng, root);
  if ("const" in schema) return schema["const"];
  if (choices !== undefined) return rng.pick(choices);
  if (anyOf !== undefined) return sampleValue(anyOf[0] ?? {}, rng, root);
  if (allOf !== undefined) return sampleValue(Object.assign({}, ...allOf), rng, root);
  switch (schema["type"]) {
    case "object":
      return sampleObject(properties ?? {}, requiredOf(schema), (part) => sampleValue(part, rng, root));
    case "array":
      return sampleArray(schema, (part) => sampleValue(part, rng, root));
    case "integer":
      return rng.int(...bounds(schema, 1));
    case "number":
      return rng.int(...bounds(schema, 0));
    case "boolean":
      return rng.next() < 0.5;
    case "string":
      return sampleText(schema, rng);
    default:
      return null;
  }
}

function definitionOf(reference: string, root: Schema): Schema {
  const name = reference.split("/").at(-1) ?? "";
  return (root["$defs"] as Record<string, Schema> | undefined)?.[name] ?? {};
}

function requiredOf(schema: Schema): Set<string> {
  return new Set(schema["required"] as string[] | undefined);
}

function sampleObject(
  properties: Record<string, Schema>,
  required: Set<string>,
  sample: (part: Schema) => unknown,
): Schema {
  const names = Object.keys(properties).filter((name) => required.has(name));
  return Object.fromEntries(names.map((name) => [name, sample(properties[name] as Schema)]));
}

function sampleArray(schema: Schema, sample: (part: Schema) => unknown): unknown[] {
  const prefix = schema["prefixItems"] as Schema[] | undefined;
  if (prefix !== undefined) return prefix.map(sample);
  const count = Number(schema["minItems"] ?? 1);
  return Array.from({ length: count }, () => sample((schema["items"] as Schema | undefined) ?? {}));
}

/** `step` is what an exclusive bound is moved by. */
function bounds(schema: Schema, step: number): [number, number] {
  const nudge = step || 1e-9;
  const low = Number(schema["minimum"] ?? Number(schema["exclusiveMinimum"] ?? -nudge) + nudge);
  const high = Number(schema["maximum"] ?? Number(schema["exclusiveMaximum"] ?? low + 3 + nudge) - nudge);
  return step === 0 ? [low, low] : [low, Math.min(high, low + 3)];
}

function sampleText(schema: Schema, rng: Rng): string {
  if (schema["format"] === "date-time") return "2026-01-02T03:04:05Z";
  if (schema["format"] === "uuid") return "12345678-1234-4234-8234-123456789abc";
  if (schema["format"] === "binary") return "AA==";
  const length = Math.max(Number(schema["minLength"] ?? 0), Math.min(5, Number(schema["maxLength"] ?? 5)));
  return Array.from({ length }, () => rng.pick([..."abcdefgh"])).join("");
}
