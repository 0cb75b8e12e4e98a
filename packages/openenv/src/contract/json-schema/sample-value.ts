import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import type { Rng } from "../../util/rng.js";
import { samplePattern } from "./sample-pattern.js";

/** Schemas can be recursive. */
const MAX_DEPTH = 8;
const SPREAD = 3;

/**
 * A small value that fits a JSON Schema of `GET /schema`: the schema's example or the simplest value; with `random` a
 * random one.
 */
export function sampleValue(schema: JsonObject, random?: Rng): unknown {
  return sample(schema, { root: schema, random, depth: MAX_DEPTH });
}

interface Context {
  root: JsonObject;
  random: Rng | undefined;
  depth: number;
}

function sample(schema: JsonObject, context: Context): unknown {
  const { root, random, depth } = context;
  if (depth === 0) return null;
  const next = (inner: unknown): unknown => sample((inner ?? {}) as JsonObject, { ...context, depth: depth - 1 });
  const { $ref, allOf, enum: choices, examples, type } = schema;
  const anyOf = schema["anyOf"] ?? schema["oneOf"];
  if (typeof $ref === "string") return next(resolveLocal($ref, root));
  if ("default" in schema) return schema["default"];
  if ("const" in schema) return schema["const"];
  if (!random && Array.isArray(examples) && examples.length > 0) return examples[0];
  if (Array.isArray(choices)) return random ? random.pick(choices) : choices[0];
  if (Array.isArray(anyOf)) {
    const choice = random ? random.pick(anyOf) : pickChoice(anyOf, depth);
    return withTag(next(choice), schema["discriminator"], choice);
  }
  if (Array.isArray(allOf)) return next(Object.assign({}, ...allOf));
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return sampleObject(schema, next);
    case "array":
      return sampleArray(schema, next, depth > MAX_DEPTH / 2 ? random : undefined);
    case "integer":
    case "number":
      return sampleNumber(schema, random);
    case "boolean":
      return random ? random.next() < 0.5 : true;
    case "string":
      return sampleText(schema, random);
    default:
      return null;
  }
}

/** A discriminator is needed also where its variant has a default for it. */
function withTag(value: unknown, discriminator: unknown, choice: unknown): unknown {
  const { propertyName, mapping } = (discriminator ?? {}) as { propertyName?: string; mapping?: JsonObject };
  if (propertyName === undefined || !isObject(value) || propertyName in value) return value;
  const { $ref } = choice as JsonObject;
  const tag = Object.entries(mapping ?? {}).find(([, reference]) => reference === $ref)?.[0];
  return tag === undefined ? value : { [propertyName]: tag, ...value };
}

/** The first choice; at great depth the first one that is not recursive. */
function pickChoice(choices: unknown[], depth: number): unknown {
  const flat = choices.find((choice) => !/"(?:\$ref|properties|items)":/.test(JSON.stringify(choice)));
  return depth > MAX_DEPTH / 2 ? choices[0] : (flat ?? choices[0]);
}

/** `#/$defs/Name` */
function resolveLocal(reference: string, root: JsonObject): unknown {
  const keys = reference.split("/").slice(1);
  return keys.reduce<unknown>((at, key) => (at as JsonObject | undefined)?.[key], root);
}

function sampleObject({ properties, required }: JsonObject, next: (inner: unknown) => unknown): JsonObject {
  const known = Object.entries((properties ?? {}) as JsonObject);
  const wanted = known.filter(([name]) => Array.isArray(required) && required.includes(name));
  return Object.fromEntries(wanted.map(([name, schema]) => [name, next(schema)]));
}

function sampleArray(schema: JsonObject, next: (inner: unknown) => unknown, random: Rng | undefined): unknown[] {
  const { prefixItems, items, minItems = 0, maxItems = Infinity, uniqueItems } = schema;
  if (Array.isArray(prefixItems)) return prefixItems.map(next);
  const length = Math.max(Number(minItems), random ? Math.min(1, Number(maxItems)) : 0);
  const sampled = Array.from({ length }, () => next(items));
  const choices = (items as JsonObject | undefined)?.["enum"];
  return uniqueItems === true && Array.isArray(choices) ? choices.slice(0, length) : sampled;
}

/** The allowed value nearest to 1; with `random` plus a small integer. */
function sampleNumber(schema: JsonObject, random: Rng | undefined): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema as Record<string, number>;
  const low = minimum ?? (exclusiveMinimum === undefined ? -Infinity : exclusiveMinimum + 1);
  const high = maximum ?? (exclusiveMaximum === undefined ? Infinity : exclusiveMaximum - 1);
  // Exclusive bounds less than 2 apart leave only fractions between them.
  if (low > high) return ((exclusiveMinimum ?? low) + (exclusiveMaximum ?? high)) / 2;
  const least = Math.min(Math.max(1, low), high);
  if (multipleOf !== undefined) return Math.ceil(least / multipleOf) * multipleOf;
  const steps = Math.floor(Math.min(SPREAD, high - least));
  return least + (random?.int(0, steps) ?? 0);
}

const FORMATS: Record<string, string> = {
  "date-time": "2026-01-02T03:04:05Z",
  uuid: "12345678-1234-4234-8234-123456789abc",
  binary: "AA==",
  date: "2026-01-02",
  time: "03:04:05",
  duration: "P1D",
  email: "someone@example.org",
  uri: "https://example.org",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};
const PLAIN = "hello";

function sampleText(
  { format, pattern, minLength = 0, maxLength = Infinity }: JsonObject,
  random: Rng | undefined,
): string {
  const known = FORMATS[String(format)];
  if (known !== undefined) return known;
  if (typeof pattern === "string") {
    const fitting = samplePattern(pattern, Number(minLength), Number(maxLength));
    if (fitting !== undefined) return fitting;
  }
  const length = Math.max(Number(minLength), Math.min(PLAIN.length, Number(maxLength)));
  const letter = (at: number): string => random?.pick([..."abcdefgh"]) ?? PLAIN.charAt(at % PLAIN.length);
  return Array.from({ length }, (_, at) => letter(at)).join("");
}
