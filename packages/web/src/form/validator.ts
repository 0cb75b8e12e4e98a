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

/**
 * Checks what a form would send by the schema of the server, and not by the one that the form shows.
 * It walks the schema: unlike validators that compile one, it needs no `eval`, which the page forbids.
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

/** What is sent of a form's data: a field that is empty is not there, an item that is empty is null. */
export function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}

/** A schema that cannot be checked here, as for a pattern of another language, is checked by the server alone. */
function findIssues(schema: RJSFSchema, value: unknown): ReturnType<typeof check> {
  try {
    return check(schema, value, schema);
  } catch {
    return [];
  }
}

const DRAFT = "2020-12";
/** By schema, and the root that its references point into. */
const made = new WeakMap<object, WeakMap<object, Validator>>();

function check(schema: RJSFSchema, value: unknown, root: RJSFSchema): ReturnType<Validator["validate"]>["errors"] {
  if (typeof schema !== "object") return new Validator(schema, DRAFT).validate(value).errors;
  const byRoot = made.get(schema) ?? new WeakMap<object, Validator>();
  made.set(schema, byRoot);
  const validator = byRoot.get(root) ?? create(schema, root);
  byRoot.set(root, validator);
  return validator.validate(value).errors;
}

/** A part of a schema keeps the definitions of the whole. */
function create(schema: RJSFSchema, root: RJSFSchema): Validator {
  const whole = schema === root ? schema : { $defs: root.$defs, definitions: root.definitions, ...schema };
  return new Validator(JSON.parse(JSON.stringify(whole, withoutOldTuples)) as Schema, DRAFT, false);
}

/** The form needs `items` for lists of fixed items, where this draft has `prefixItems`. */
function withoutOldTuples(_key: string, value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value["items"])) return value;
  const { items: _, ...rest } = value;
  return rest;
}
