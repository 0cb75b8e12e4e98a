import { type Schema, Validator } from "@cfworker/json-schema";
import {
  type CustomValidator,
  createErrorHandler,
  type ErrorTransformer,
  type RJSFSchema,
  toErrorSchema,
  unwrapErrorHandler,
  type ValidationData,
  type ValidatorType,
  validationDataMerge,
} from "@rjsf/utils";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { explainIssues } from "./issues.js";
import { REPEATS } from "./prepare-schema.js";

/**
 * Validates the data of a form with the schema of the server, not with the one that the form shows. It interprets the
 * schema: validators that compile it need `eval`, which the content policy forbids.
 */
export function createValidator(whole: JsonObject): ValidatorType {
  return {
    validateFormData(
      formData: unknown,
      _shown: RJSFSchema,
      customValidate?: CustomValidator,
      transformErrors?: ErrorTransformer,
    ): ValidationData<unknown> {
      const value = toJson(formData);
      const found = explainIssues(whole, findIssues(whole, value), value);
      const errors = transformErrors ? transformErrors(found) : found;
      const data = { errors, errorSchema: toErrorSchema(errors) };
      if (!customValidate) return data;
      const handler = customValidate(formData, createErrorHandler(formData));
      return validationDataMerge(data, unwrapErrorHandler(handler));
    },
    isValid(schema: RJSFSchema, formData: unknown, root: RJSFSchema): boolean {
      try {
        return check(schema, toJson(formData), root).length === 0;
      } catch {
        return false;
      }
    },
    rawValidation<Result>(schema: RJSFSchema, formData?: unknown) {
      return { errors: check(schema, toJson(formData), schema) as Result[] };
    },
  };
}

/** The data that a form sends: an empty field is omitted, an empty item is null. */
export function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}

/** A schema that cannot be checked here, for example with a Python pattern, is checked only by the server. */
function findIssues(schema: RJSFSchema, value: unknown): ReturnType<typeof check> {
  try {
    return check(schema, value, schema);
  } catch {
    return [];
  }
}

const DRAFT = "2020-12";
/** Cached by schema and by the root of its references. */
const made = new WeakMap<object, WeakMap<object, Validator>>();

function check(schema: RJSFSchema, value: unknown, root: RJSFSchema): ReturnType<Validator["validate"]>["errors"] {
  if (typeof schema !== "object") return new Validator(schema, DRAFT).validate(value).errors;
  const byRoot = made.get(schema) ?? new WeakMap<object, Validator>();
  made.set(schema, byRoot);
  const validator = byRoot.get(root) ?? create(schema, root);
  byRoot.set(root, validator);
  return validator.validate(value).errors;
}

/** A subschema keeps the definitions of the root. */
function create(schema: RJSFSchema, root: RJSFSchema): Validator {
  const whole = schema === root ? schema : { $defs: root.$defs, definitions: root.definitions, ...schema };
  return new Validator(JSON.parse(JSON.stringify(whole, withoutFormWords)) as Schema, DRAFT, false);
}

/** The form needs `items` for tuples, where this draft has `prefixItems`, and marks lists that may repeat. */
function withoutFormWords(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { items, uniqueItems, ...rest } = value;
  if (Array.isArray(items)) return uniqueItems === undefined ? rest : { ...rest, uniqueItems };
  return REPEATS in value ? { ...rest, items } : value;
}
