import Form from "@rjsf/core/lib/components/Form.js";
import { type ErrorSchema, ErrorSchemaBuilder } from "@rjsf/utils";
import { type KeyboardEvent, type ReactNode, useMemo } from "react";
import type { ValidationIssue } from "../../../openenv/src/errors.js";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import { prepareSchema } from "./prepare-schema.js";
import { templates } from "./templates.js";
import { validator } from "./validator.js";
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
  children?: ReactNode;
}

/** Without children the form would add a button of its own. */
const NOTHING = <span hidden />;
const UI = {
  "ui:submitButtonOptions": { norender: true },
  "ui:globalOptions": { enableOptionalDataFieldForType: ["object" as const] },
};
const DEFAULTS = { emptyObjectFields: "populateAllDefaults" } as const;

/** A form made from a JSON Schema. It is told what is wrong on leaving a field and on sending, never while typing. */
export default function SchemaForm({
  id,
  schema,
  value,
  issues,
  onChange,
  onSend,
  onInvalid,
  children,
}: SchemaFormProps) {
  const shown = useMemo(() => prepareSchema(schema), [schema]);
  const errors = useMemo(() => toErrors(issues), [issues]);
  const sendLongText = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    (document.getElementById(id) as HTMLFormElement | null)?.requestSubmit();
  };
  return (
    <div onKeyDown={sendLongText}>
      <Form
        id={id}
        idPrefix={id}
        className="act-one"
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
        focusOnFirstError
        experimental_defaultFormStateBehavior={DEFAULTS}
        onChange={({ formData }) => onChange((formData ?? {}) as JsonObject)}
        onSubmit={({ formData }) => onSend((formData ?? {}) as JsonObject)}
        onError={(found) => onInvalid(new Set(found.map(({ property }) => property)).size)}
      >
        {children ?? NOTHING}
      </Form>
    </div>
  );
}

function toErrors(issues: readonly ValidationIssue[]): ErrorSchema {
  const builder = new ErrorSchemaBuilder();
  for (const { loc, msg } of issues) builder.addErrors(msg, loc.map(String));
  return builder.ErrorSchema;
}
