import { type BaseInputTemplateProps, type EnumOptionsType, getInputProps, type WidgetProps } from "@rjsf/utils";
import type { KeyboardEvent } from "react";
import { EnterHint, isTouch } from "../parts/enter-hint.js";
import { Icon } from "../parts/icon.js";
import { Checks, Sequence, same } from "./choices.js";
import { FileUpload, fileKindOf } from "./file-upload.js";
import { REPEATS } from "./prepare-schema.js";

/** Names of fields with code or long text, in which Enter adds a line. */
const PROGRAM = /code|program|script|prompt|source/i;
const LONG_TEXT = 200;
/** Formats with text on a single line. */
const ONE_LINE = /^(uuid|ipv4|ipv6|hostname|duration|uri-reference|json-pointer|regex)$|^idn-|^iri/;

/** Numbers, dates, URLs and other types with an input element. */
export function Input(props: BaseInputTemplateProps) {
  const {
    id,
    value,
    schema,
    options,
    type,
    required,
    disabled,
    readonly,
    autofocus,
    onChange,
    onBlur,
    onFocus,
    rawErrors,
  } = props;
  const { step, min, max, ...input } = getInputProps(schema, type, options);
  const isNumber = input.type === "number";
  return (
    <input
      {...input}
      // A number input hides invalid text, so no message could explain it.
      type={isNumber ? "text" : input.type}
      inputMode={isNumber ? (step === 1 ? "numeric" : "decimal") : undefined}
      className={`input ${isNumber ? "" : "input--text"}`}
      id={id}
      name={id}
      value={value ?? ""}
      required={false}
      aria-required={required}
      aria-label={props.hideLabel ? props.label : undefined}
      disabled={disabled}
      readOnly={readonly}
      // biome-ignore lint/a11y/noAutofocus: the form requests it for a dialog that the visitor has opened
      autoFocus={autofocus}
      autoComplete="off"
      spellCheck={false}
      placeholder={placeholderOf(schema.default, schema.examples)}
      aria-invalid={rawErrors?.length ? true : undefined}
      aria-describedby={`${id}__description ${id}__error`}
      onChange={({ target }) => onChange(target.value === "" ? emptyValue(props) : target.value)}
      onBlur={({ target }) => onBlur(id, target.value)}
      onFocus={({ target }) => onFocus(id, target.value)}
    />
  );
}

function placeholderOf(preset: unknown, examples: unknown): string | undefined {
  if (preset !== undefined && preset !== null && typeof preset !== "object" && preset !== "") return String(preset);
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return typeof example === "string" || typeof example === "number" ? `e.g. ${example}` : undefined;
}

/** The value of an empty field: the empty string if that is its default, null if it is required and nullable. */
function emptyValue({ schema, required, options }: Pick<WidgetProps, "schema" | "required" | "options">): unknown {
  if (schema.default === "") return "";
  return required && [schema.type].flat().includes("null") ? null : options.emptyValue;
}

/** The form library uses this widget for numbers, too. */
function Text(props: WidgetProps) {
  const { format = "", type } = props.schema;
  const isNumber = [type].flat().some((one) => one === "number" || one === "integer");
  if (isNumber || ONE_LINE.test(format)) return <Input {...(props as unknown as BaseInputTemplateProps)} />;
  return <Area {...props} />;
}

/** Multiline text, one line high, growing with its content. */
function Area(props: WidgetProps) {
  const { id, name, label, hideLabel, value, required, disabled, readonly, onChange, onBlur, onFocus, schema } = props;
  const isProgram = PROGRAM.test(name) && schema.pattern === undefined && (schema.maxLength ?? LONG_TEXT) >= LONG_TEXT;
  const sends = !isProgram && !isTouch;
  const text = String(value ?? "");
  const send = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    const { key, shiftKey, altKey, ctrlKey, metaKey, nativeEvent, currentTarget } = event;
    if (!sends || key !== "Enter" || shiftKey || altKey || ctrlKey || metaKey || nativeEvent.isComposing) return;
    event.preventDefault();
    currentTarget.form?.requestSubmit();
  };
  return (
    <>
      <textarea
        className={`input input--area ${isProgram ? "input--mono" : ""}`}
        id={id}
        name={id}
        rows={Math.min(MAX_ROWS, Math.max(isProgram ? PROGRAM_ROWS : 1, text.split("\n").length))}
        value={text}
        aria-required={required}
        aria-label={hideLabel ? label : undefined}
        disabled={disabled}
        readOnly={readonly}
        spellCheck={false}
        enterKeyHint={sends ? "send" : "enter"}
        placeholder={placeholderOf(schema.default, schema.examples)}
        aria-invalid={props.rawErrors?.length ? true : undefined}
        aria-describedby={`${id}__description ${id}__error ${id}__keys`}
        onChange={({ target }) => onChange(target.value === "" ? emptyValue(props) : target.value)}
        onBlur={({ target }) => onBlur(id, target.value)}
        onFocus={({ target }) => onFocus(id, target.value)}
        onKeyDown={send}
      />
      <EnterHint id={`${id}__keys`} sends={sends} />
    </>
  );
}

const PROGRAM_ROWS = 6;
const MAX_ROWS = 12;

function Select(props: WidgetProps) {
  const { id, value, options, required, disabled, readonly, multiple, schema, onChange, onBlur, rawErrors } = props;
  const { label, hideLabel } = props;
  const choices = (options.enumOptions ?? []) as EnumOptionsType[];
  if (multiple) {
    const Several = REPEATS in schema ? Sequence : Checks;
    return <Several {...props} choices={choices} />;
  }
  const at = choices.findIndex((choice) => same(choice.value, value));
  return (
    <div className="select">
      <select
        className="input"
        id={id}
        value={at}
        disabled={disabled || readonly}
        aria-required={required}
        aria-label={hideLabel && label ? label : undefined}
        aria-invalid={rawErrors?.length ? true : undefined}
        aria-describedby={`${id}__description ${id}__error`}
        onChange={({ target }) => onChange(choices[Number(target.value)]?.value)}
        onBlur={() => onBlur(id, value)}
      >
        {at >= 0 && (required || schema.default !== undefined) ? null : <option value={-1}>Choose</option>}
        {choices.map((choice, index) => (
          <option key={JSON.stringify(choice.value)} value={index}>
            {choice.label}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </div>
  );
}

function Checkbox({ id, value, label, disabled, readonly, onChange, onBlur, schema }: WidgetProps) {
  return (
    <label className="check" htmlFor={id}>
      <input
        type="checkbox"
        id={id}
        name={id}
        checked={value === true}
        disabled={disabled || readonly}
        aria-describedby={`${id}__description ${id}__error`}
        onChange={({ target }) => onChange(target.checked)}
        onBlur={() => onBlur(id, value)}
      />
      {label}
      <span className="type">{schema.type === "boolean" ? "boolean" : ""}</span>
    </label>
  );
}

export const widgets = {
  TextWidget: (props: WidgetProps) => {
    const kind = fileKindOf(props.schema);
    if (kind === undefined) return <Text {...props} />;
    return (
      <FileUpload {...props} kind={kind}>
        <Text {...props} />
      </FileUpload>
    );
  },
  TextareaWidget: Area,
  SelectWidget: Select,
  CheckboxWidget: Checkbox,
  CheckboxesWidget: (props: WidgetProps) => <Select {...props} multiple />,
  RadioWidget: Select,
};
