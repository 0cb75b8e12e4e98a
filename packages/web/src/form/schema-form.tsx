import Form from "@rjsf/core/lib/components/Form.js";
import { type ErrorSchema, ErrorSchemaBuilder, type RJSFSchema, type RJSFValidationError } from "@rjsf/utils";
import type { ValidationIssue } from "openenv-ts";
import type { JsonObject } from "openenv-ts/protocol";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from "react";
import { REQUIRED } from "./issues.js";
import { focusProblem } from "./next-problem.js";
import { DEFAULTS, prepareSchema } from "./prepare-schema.js";
import { templates } from "./templates.js";
import { createValidator, toJson } from "./validator.js";
import { Input, widgets } from "./widgets.js";

export interface SchemaFormProps {
  /** Id of the form, so that a button outside of it can submit it. */
  id: string;
  schema: JsonObject;
  value: JsonObject;
  /** Issues that the server reported for the sent value. */
  issues: readonly ValidationIssue[];
  onChange(value: JsonObject): void;
  onSend(value: JsonObject): void;
  /** Called with the number of fields to correct before it can be sent. */
  onInvalid(problems: number): void;
  /** Called when the fields are rendered; must be a stable function. */
  onReady?(): void;
  children?: ReactNode;
}

/** Without children, the form would add its own button. */
const NOTHING = <span hidden />;
const UI = {
  "ui:submitButtonOptions": { norender: true },
};

/** A form for a JSON Schema. It shows errors when a field is left and on submit, never while typing. */
export default function SchemaForm({
  id,
  schema,
  value,
  issues,
  onChange,
  onSend,
  onInvalid,
  onReady,
  children,
}: SchemaFormProps) {
  useEffect(() => onReady?.(), [onReady]);
  const shown = useMemo(() => prepareSchema(schema), [schema]);
  const validator = useMemo(() => createValidator(schema), [schema]);
  const errors = useMemo(() => toErrors(issues, schema), [issues, schema]);
  /** Before the first submit, only fields that were edited and left are validated. */
  const left = useRef(new Set<string>());
  const sending = useRef(false);
  const judge = (found: RJSFValidationError[]): RJSFValidationError[] =>
    sending.current
      ? found
      : found.filter(({ property = "", message }) => message !== REQUIRED && left.current.has(idOf(id, property)));
  const sendLongText = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    (document.getElementById(id) as HTMLFormElement | null)?.requestSubmit();
  };
  return (
    <div
      onKeyDown={sendLongText}
      onSubmitCapture={() => {
        sending.current = true;
      }}
    >
      <Form
        id={id}
        idPrefix={id}
        className={`act-one ${hasOneField(shown) ? "act-one--single" : ""}`}
        schema={shown}
        uiSchema={UI}
        formData={value}
        validator={validator}
        templates={{ ...templates, BaseInputTemplate: Input }}
        widgets={widgets}
        extraErrors={errors}
        liveValidate="onBlur"
        showErrorList={false}
        noHtml5Validate
        experimental_defaultFormStateBehavior={DEFAULTS}
        onChange={({ formData }) => onChange((formData ?? {}) as JsonObject)}
        onBlur={(field) => left.current.add(field)}
        transformErrors={judge}
        onSubmit={({ formData }) => {
          sending.current = false;
          left.current.clear();
          onSend(toJson(formData ?? {}) as JsonObject);
        }}
        onError={(found) => {
          onInvalid(new Set(found.map(({ property }) => property)).size);
          setTimeout(() => focusProblem(id, "first"));
        }}
      >
        {children ?? NOTHING}
      </Form>
    </div>
  );
}

/** On a small screen, such a form has its button next to the field. */
function hasOneField({ properties = {} }: RJSFSchema): boolean {
  const [only, ...more] = Object.values(properties);
  return more.length === 0 && typeof only === "object" && ["string", "number", "integer"].includes(String(only.type));
}

/** Maps `.points[0].x` to the field id `action_points_0_x`. */
function idOf(form: string, property: string): string {
  return form + property.replaceAll(/[.[]/g, "_").replaceAll("]", "");
}

/** The path of an issue in a union starts with the variant, which the path of its field does not have. */
function toErrors(issues: readonly ValidationIssue[], { anyOf, oneOf = anyOf }: JsonObject): ErrorSchema {
  const builder = new ErrorSchemaBuilder();
  for (const { loc, msg } of issues) builder.addErrors(msg, loc.slice(oneOf === undefined ? 0 : 1).map(String));
  return builder.ErrorSchema;
}
