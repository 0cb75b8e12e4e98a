import Form from "@rjsf/core/lib/components/Form.js";
import { type ErrorSchema, ErrorSchemaBuilder, type RJSFSchema, type RJSFValidationError } from "@rjsf/utils";
import type { ValidationIssue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from "react";
import { REQUIRED } from "./issues.js";
import { DEFAULTS, prepareSchema } from "./prepare-schema.js";
import { templates } from "./templates.js";
import { createValidator, toJson } from "./validator.js";
import { Input, widgets } from "./widgets.js";

export interface SchemaFormProps {
  /** So that a button elsewhere can send it. */
  id: string;
  schema: JsonObject;
  value: JsonObject;
  /** What the server said about the value that was sent. */
  issues: readonly ValidationIssue[];
  onChange(value: JsonObject): void;
  onSend(value: JsonObject): void;
  /** How many fields have to be corrected before it can be sent. */
  onInvalid(problems: number): void;
  /** Its fields are there; the same function each time. */
  onReady?(): void;
  children?: ReactNode;
}

/** Without children the form would add a button of its own. */
const NOTHING = <span hidden />;
const UI = {
  "ui:submitButtonOptions": { norender: true },
};

/** A form made from a JSON Schema. It is told what is wrong on leaving a field and on sending, never while typing. */
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
  const errors = useMemo(() => toErrors(issues), [issues]);
  /** Only what was typed and left is judged before the first sending. */
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
          setTimeout(() => document.getElementById(id)?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
        }}
      >
        {children ?? NOTHING}
      </Form>
    </div>
  );
}

/** Such a form has its button beside the field where there is little room. */
function hasOneField({ properties = {} }: RJSFSchema): boolean {
  const [only, ...more] = Object.values(properties);
  return more.length === 0 && typeof only === "object" && ["string", "number", "integer"].includes(String(only.type));
}

/** `.points[0].x` is the field `action_points_0_x`. */
function idOf(form: string, property: string): string {
  return form + property.replaceAll(/[.[]/g, "_").replaceAll("]", "");
}

function toErrors(issues: readonly ValidationIssue[]): ErrorSchema {
  const builder = new ErrorSchemaBuilder();
  for (const { loc, msg } of issues) builder.addErrors(msg, loc.map(String));
  return builder.ErrorSchema;
}
