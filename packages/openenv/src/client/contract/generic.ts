import type { ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";

type Check = (action: unknown) => ValidationIssue[];

/**
 * Compiles the action schema of `GET /schema` to a check of actions. If the schema cannot be compiled (an unknown
 * dialect, a browser page that forbids eval), the check finds no issues and the server decides.
 */
export async function compileActionCheck(schema: JsonObject): Promise<Check> {
  try {
    const { Ajv2020 } = await import("ajv/dist/2020.js");
    const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, validateFormats: false });
    const compile = (part: JsonObject): Check => {
      const validate = ajv.compile(part);
      return (value) => {
        if (validate(value)) return [];
        return (validate.errors ?? []).map(({ keyword, instancePath, params, message, data }) => ({
          type: keyword,
          loc: locate(instancePath, params),
          msg: message ?? "does not match the schema",
          input: data,
        }));
      };
    };
    return compileUnion(schema, compile) ?? compile(schema);
  } catch {
    return () => [];
  }
}

/**
 * The check of a union of definitions: the issues are those of the variant that the discriminator selects, or of each
 * variant, with paths that start with the variant, as the server has them. Undefined for any other schema.
 */
function compileUnion(schema: JsonObject, compile: (part: JsonObject) => Check): Check | undefined {
  const { $defs, oneOf, anyOf = oneOf, discriminator } = schema;
  if (!Array.isArray(anyOf) || !isObject($defs) || "properties" in schema) return undefined;
  const references = anyOf.map((one) => (isObject(one) ? one["$ref"] : undefined));
  if (!references.every((one) => typeof one === "string")) return undefined;
  const within = (name: string, check: Check): Check => {
    return (action) => check(action).map((issue) => ({ ...issue, loc: [name, ...issue.loc] }));
  };
  const checks = new Map(references.map(($ref) => [$ref, compile({ $defs, $ref })]));
  const { propertyName: key, mapping } = (isObject(discriminator) ? discriminator : {}) as JsonObject;
  if (typeof key !== "string" || !isObject(mapping)) {
    const named = [...checks].map(([$ref, check]) => within($ref.slice($ref.lastIndexOf("/") + 1), check));
    return (action) => {
      const issues = named.map((check) => check(action));
      return issues.some(({ length }) => length === 0) ? [] : issues.flat();
    };
  }
  return (action) => {
    const tag = isObject(action) && Object.hasOwn(action, key) ? action[key] : undefined;
    const check = Object.hasOwn(mapping, String(tag)) ? checks.get(String(mapping[String(tag)])) : undefined;
    if (check !== undefined) return within(String(tag), check)(action);
    const tags = Object.keys(mapping).map((one) => `'${one}'`);
    return tag === undefined
      ? [
          {
            type: "union_tag_not_found",
            loc: [],
            msg: `The field '${key}', which selects the type, is missing`,
            input: action,
          },
        ]
      : [
          {
            type: "union_tag_invalid",
            loc: [],
            msg: `The field '${key}' must be one of ${tags.join(", ")}`,
            input: action,
          },
        ];
  };
}

/** Converts a JSON pointer to a path, which ends with the field itself when the field is missing or extra. */
function locate(pointer: string, params: Record<string, unknown>): (string | number)[] {
  const keys = pointer.split("/").slice(1);
  const loc = keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key.replaceAll("~1", "/").replaceAll("~0", "~")));
  const field = params["missingProperty"] ?? params["additionalProperty"];
  return typeof field === "string" ? [...loc, field] : loc;
}
