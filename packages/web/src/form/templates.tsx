import {
  ADDITIONAL_PROPERTY_FLAG,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  canExpand,
  type FieldTemplateProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type WrapIfAdditionalTemplateProps,
} from "@rjsf/utils";
import { type ReactNode, useEffect } from "react";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { IconButton } from "../parts/icon-button.js";
import { MessageSlot } from "../parts/message-slot.js";
import { REQUIRED } from "./issues.js";
import { typeHint } from "./type-hint.js";

/** The templates of a form field: label, type, input, description, errors. */
export const templates = {
  FieldTemplate: Field,
  ObjectFieldTemplate: ObjectGroup,
  ArrayFieldTemplate: ArrayGroup,
  ArrayFieldItemTemplate: ArrayItem,
  MultiSchemaFieldTemplate: Union,
  WrapIfAdditionalTemplate: Additional,
  DescriptionFieldTemplate: () => null,
};

/** A date is typed in the time of the visitor, and sent in UTC. */
const ZONE = `${Intl.DateTimeFormat().resolvedOptions().timeZone} time`;

function Field(props: FieldTemplateProps) {
  const { id, label, required, schema, rawDescription, children, rawErrors, hidden, displayLabel, registry } = props;
  if (schema.const !== undefined) return <Fixed {...props} />;
  if (hidden) return <div hidden>{children}</div>;
  const isUnion = schema.oneOf !== undefined || schema.anyOf !== undefined;
  const isGroup = !isUnion && ["object", "array"].includes(String([schema.type].flat()[0])) && !displayLabel;
  const type = [typeHint(schema), schema.format === "date-time" ? ZONE : "", required ? "required" : ""]
    .filter(Boolean)
    .join(", ");
  const Wrap = registry.templates.WrapIfAdditionalTemplate;
  return (
    <Wrap {...props}>
      <div className="field">
        {displayLabel || isUnion ? (
          <div className="label-row">
            <label htmlFor={isUnion ? `${id}__${schema.oneOf ? "oneof" : "anyof"}_select` : id}>{label}</label>
            <span className="type">{type}</span>
          </div>
        ) : null}
        {children}
        {rawDescription && !isGroup ? (
          <p className="hint" id={`${id}__description`}>
            {rawDescription}
          </p>
        ) : null}
        <MessageSlot id={id} kind={props.fieldPathId.path.length === 0 ? "form" : isGroup ? "group" : "field"}>
          {(rawErrors?.includes(REQUIRED) ? [REQUIRED] : [...new Set(rawErrors)]).join(" ")}
        </MessageSlot>
      </div>
    </Wrap>
  );
}

/** A constant is filled in automatically and not shown. */
function Fixed({ schema, formData, onChange, fieldPathId, children }: FieldTemplateProps) {
  const missing = formData === undefined;
  const value: unknown = schema.const;
  useEffect(() => {
    if (missing) onChange(value, fieldPathId.path);
  }, [missing, onChange, value, fieldPathId.path]);
  return <div hidden>{children}</div>;
}

function ObjectGroup(props: ObjectFieldTemplateProps) {
  const { title, description, properties, fieldPathId, schema, uiSchema, formData, required } = props;
  const isRoot = fieldPathId.path.length === 0;
  const fields = (
    <div className={isRoot ? "stack stack--form" : "group group--nested"}>
      {properties.filter(({ hidden }) => !hidden).map(({ content }) => content)}
      {canExpand(schema, uiSchema, formData) ? <AddButton label="Add field" onClick={props.onAddProperty} /> : null}
      {properties.length === 0 && isRoot ? <p className="hint">Nothing to fill in.</p> : null}
    </div>
  );
  if (isRoot) return fields;
  return (
    <Group
      id={fieldPathId.$id}
      title={title}
      type={required ? "object, required" : "object, optional"}
      description={description}
    >
      {fields}
    </Group>
  );
}

function ArrayGroup({ title, items, schema, canAdd, onAddClick, fieldPathId, required }: ArrayFieldTemplateProps) {
  const noun = title.replace(/s$/, "").toLowerCase() || "item";
  const type = [typeHint(schema), required ? "required" : ""].filter(Boolean).join(", ");
  return (
    <Group id={fieldPathId.$id} title={title} type={type} description={schema.description}>
      <div className="group">
        {items}
        {canAdd ? <AddButton label={`Add ${noun}`} onClick={() => onAddClick()} /> : null}
      </div>
    </Group>
  );
}

function ArrayItem({ children, index, buttonsProps }: ArrayFieldItemTemplateProps) {
  const { hasRemove, hasMoveUp, hasMoveDown, onRemoveItem, onMoveUpItem, onMoveDownItem } = buttonsProps;
  return (
    <div className="item">
      <span className="idx">{index + 1}</span>
      <div className="item__field">{children}</div>
      <div className="item__tools">
        {hasMoveUp ? <IconButton icon="up" label={`Move item ${index + 1} up`} onClick={onMoveUpItem} /> : null}
        {hasMoveDown ? <IconButton icon="down" label={`Move item ${index + 1} down`} onClick={onMoveDownItem} /> : null}
        {hasRemove ? <IconButton icon="close" label={`Remove item ${index + 1}`} onClick={onRemoveItem} /> : null}
      </div>
    </div>
  );
}

function Union({ selector, optionSchemaField, schema }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="union" data-kind={schema.oneOf ? "oneOf" : "anyOf"}>
      {selector}
      <div className="union__choice">{optionSchemaField}</div>
    </div>
  );
}

/** A field that the visitor has added and named. */
function Additional({ id, label, schema, children, onKeyRenameBlur, onRemoveProperty }: WrapIfAdditionalTemplateProps) {
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return <>{children}</>;
  return (
    <div className="pair">
      <input
        className="input input--mono"
        id={`${id}-key`}
        aria-label={`Name of the field ${label}`}
        defaultValue={label}
        onBlur={onKeyRenameBlur}
      />
      <div className="item__field">{children}</div>
      <IconButton icon="close" label={`Remove ${label}`} onClick={onRemoveProperty} />
    </div>
  );
}

interface GroupProps {
  id: string;
  title: string;
  type: string;
  description: ReactNode;
  children: ReactNode;
}

function Group({ id, title, type, description, children }: GroupProps) {
  return (
    <fieldset className="field" id={id} tabIndex={-1}>
      <legend className="sr">{title}</legend>
      <div className="label-row" aria-hidden="true">
        <span>{title}</span>
        <span className="type">{type}</span>
      </div>
      {description ? <div className="hint">{description}</div> : null}
      {children}
    </fieldset>
  );
}

function AddButton({ label, onClick }: { label: string; onClick(): void }) {
  return (
    <div>
      <Button look="ghost sm" className="flush" onClick={onClick}>
        <Icon name="plus" />
        {label}
      </Button>
    </div>
  );
}
