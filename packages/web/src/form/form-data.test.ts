import { createSchemaUtils, type RJSFSchema } from "@rjsf/utils";
import fc from "fast-check";
import { defineContract } from "openenv-ts";
import { expect, test } from "vitest";
import type * as z from "zod";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import { objectCase } from "../../test/generated-schemas.js";
import { DEFAULTS, prepareSchema } from "./prepare-schema.js";
import { createValidator, toJson } from "./validator.js";

test("a form sends what its JSON shows, and the server takes it: any schema, any value that fits", () => {
  fc.assert(
    fc.property(objectCase, ({ schema, value }) => {
      const action = schema as z.ZodObject;
      const form = openForm(defineContract({ name: "any_env", action, observation: action }).schemas().action);
      const sent = form.fill(value as JsonObject);
      expect(form.problems(sent)).toEqual([]);
      expect(action.safeParse(sent).error).toBeUndefined();
      expect(action.parse(sent)).toEqual(action.parse(value));
      expect(form.fill(sent)).toEqual(sent);
    }),
    { numRuns: 150 },
  );
});

/** What the form makes of a value, without the page. */
function openForm(schema: JsonObject) {
  const validator = createValidator(schema);
  const shown = prepareSchema(schema);
  const utils = createSchemaUtils(validator, shown, DEFAULTS);
  return {
    fill: (value: JsonObject) => toJson(utils.getDefaultFormState(shown, value)) as JsonObject,
    problems: (value: JsonObject) =>
      validator.validateFormData(value, shown as RJSFSchema).errors.map(({ stack }) => stack),
  };
}
