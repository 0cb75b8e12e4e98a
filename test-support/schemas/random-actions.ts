/** Random actions of environments in Python: the source of their models, and values for each variant. */
import { createHash } from "node:crypto";
import * as fc from "fast-check";

/** The type of a field: how Python declares it, and two values as JSON. */
interface Kind {
  annotation: string;
  /** Classes that the annotation uses, each after those that it uses itself. */
  support: string[];
  values: [unknown, unknown];
}

interface RandomField extends Kind {
  name: string;
  isRequired: boolean;
}

export interface RandomVariant {
  className: string;
  /** The field that tells the variants apart, and its value. */
  tag: Record<string, string>;
  /** As JSON: with all fields, and with those that are required. */
  values: Record<string, unknown>[];
}

export interface RandomAction {
  /** A module with the class TheAction. */
  source: string;
  variants: RandomVariant[];
}

const IMPORTS = `from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypeAliasType
`;

function kind(annotation: string, value: fc.Arbitrary<unknown>, support: string[] = []): fc.Arbitrary<Kind> {
  return fc.tuple(value, value).map((values) => ({ annotation, support, values }));
}

const text = fc.string({ maxLength: 8 });
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
const day = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000).toISOString());

const TREE = `class Tree(BaseModel):
    name: str
    children: list["Tree"] = Field(default_factory=list)
`;
const leaf = text.map((name) => ({ name, children: [] as unknown[] }));
const tree = fc.tuple(text, fc.array(leaf, { maxLength: 2 })).map(([name, children]) => ({ name, children }));
const NEST = 'Nest = TypeAliasType("Nest", "Union[int, list[Nest], dict[str, Nest]]")\n';
const nest = fc.letrec((tie) => ({
  nest: fc.oneof(
    { depthSize: "small" },
    fc.integer({ min: -99, max: 99 }),
    fc.array(tie("nest"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("nest"), { maxKeys: 2 }),
  ),
})).nest;

const scalar: fc.Arbitrary<Kind> = fc.oneof(
  kind("str", text),
  kind("int", fc.integer()),
  kind("Annotated[int, Field(ge=0, lt=100)]", fc.integer({ min: 0, max: 99 })),
  kind("float", double),
  kind("bool", fc.boolean()),
  kind('Literal["a", "b c", ""]', fc.constantFrom("a", "b c", "")),
  kind("Literal[1, 2]", fc.constantFrom(1, 2)),
  kind("Region", fc.constantFrom("HOME", "shop"), ['class Region(str, Enum):\n    HOME = "HOME"\n    SHOP = "shop"\n']),
  kind("Level", fc.constantFrom(1, 3), ["class Level(IntEnum):\n    LOW = 1\n    HIGH = 3\n"]),
  kind("datetime", day),
  kind(
    "date",
    day.map((date) => date.slice(0, 10)),
  ),
  kind(
    "time",
    day.map((date) => date.slice(11, 19)),
  ),
  kind("timedelta", fc.constantFrom("PT1H30M", "P2DT3S", "PT0.5S")),
  kind("UUID", fc.uuid()),
  kind("Decimal", fc.constantFrom<unknown>(1.25, "-3.50", 0.5)),
  kind("bytes", fc.string({ unit: fc.constantFrom("a", "é", "0"), maxLength: 5 })),
  kind("Tree", tree, [TREE]),
  kind("Nest", nest, [NEST]),
  kind("Any", fc.jsonValue({ maxDepth: 1 })),
  kind("set[str]", fc.uniqueArray(text, { maxLength: 1 })),
  kind("Union[int, str, list[int]]", fc.oneof(fc.integer(), text, fc.array(fc.integer(), { maxLength: 2 }))),
);

const NAMES = [
  "x",
  "from",
  "class",
  "list",
  "date",
  "str",
  "time",
  "bytes",
  "model_id",
  "my-field",
  "2nd",
  "_hidden",
  "é",
];

const { any } = fc.letrec<{ any: Kind; model: Kind }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    { weight: 5, arbitrary: scalar },
    tie("any").map((inner) => wrap(inner, `list[${inner.annotation}]`, (value) => [value])),
    tie("any").map((inner) => wrap(inner, `dict[str, ${inner.annotation}]`, (value) => ({ "a b": value }))),
    tie("any").map((inner) => wrap(inner, `dict[int, ${inner.annotation}]`, (value) => ({ "4": value, "-1": value }))),
    tie("any").map((inner) => wrap(inner, `dict[Literal["a", "b"], ${inner.annotation}]`, (value) => ({ b: value }))),
    tie("any").map((inner) => wrap(inner, `tuple[${inner.annotation}, int]`, (value) => [value, 7])),
    tie("any").map((inner) => wrap(inner, `Optional[${inner.annotation}]`, (value) => value)),
    tie("any").map((inner) => ({
      ...inner,
      annotation: `Optional[${inner.annotation}]`,
      values: [null, null] as [null, null],
    })),
    tie("model"),
    fc.tuple(tie("model"), tie("model")).map(([one, two]) => nestedUnion(one, two)),
  ),
  model: fc.array(fc.tuple(fc.constantFrom(...NAMES), tie("any"), fc.boolean()), { maxLength: 3 }).map((fields) => {
    const members = fieldsOf(fields.map(([name, type, isRequired]) => ({ ...type, name, isRequired })));
    const className = `Part${hash(JSON.stringify(members))}`;
    const source = renderClass(className, members);
    return {
      annotation: className,
      support: [...members.flatMap(({ support }) => support), source],
      values: [instanceOf(members, true), instanceOf(members, false)],
    };
  }),
}));

const field = fc.record({ name: fc.constantFrom(...NAMES), type: any, isRequired: fc.boolean() });
const VERBS = ["Click", "Wait", "Type", "DoubleClick", "Action", "Stop", "Observation", "Field", "Date"];

/** An action as one class, or as a union of two to four variants with or without a discriminator. */
export const randomAction: fc.Arbitrary<RandomAction> = fc
  .record({
    tag: fc.constantFrom(undefined, "kind", "type", "action_type"),
    hasDefault: fc.boolean(),
    variants: fc.uniqueArray(
      fc.record({ className: fc.constantFrom(...VERBS), fields: fc.array(field, { maxLength: 4 }) }),
      { selector: ({ className }) => className, minLength: 2, maxLength: 4 },
    ),
  })
  .map(({ tag, hasDefault, variants }) => {
    const made = variants.map(({ className, fields }) => {
      const value = className.toLowerCase();
      const members = fieldsOf(fields.map(({ type, ...rest }) => ({ ...type, ...rest })));
      const own: RandomField = {
        annotation: "int",
        support: [],
        values: [1, 2],
        name: `by_${value}`,
        isRequired: true,
      };
      const all = tag === undefined ? [own, ...members] : members;
      const constant = `    ${tag}: Literal["${value}"]${hasDefault ? ` = "${value}"` : ""}\n`;
      return {
        className,
        tag,
        value,
        members: all,
        source: renderClass(`${className}_`, all, className, tag ? constant : ""),
      };
    });
    const union = `Union[${made.map(({ className }) => `${className}_`).join(", ")}]`;
    const root = tag === undefined ? union : `Annotated[${union}, Field(discriminator="${tag}")]`;
    const support = new Set(made.flatMap(({ members }) => members.flatMap((member) => member.support)));
    return {
      source: [
        IMPORTS,
        ...support,
        ...made.map(({ source }) => source),
        `class TheAction(RootModel[${root}]):\n    pass\n`,
      ].join("\n\n"),
      variants: made.map(({ className, value, members }) => ({
        className,
        tag: (tag === undefined ? {} : { [tag]: value }) as Record<string, string>,
        values: [instanceOf(members, true), instanceOf(members, false)],
      })),
    };
  });

function wrap(inner: Kind, annotation: string, around: (value: unknown) => unknown): Kind {
  const [one, two] = inner.values;
  return { ...inner, annotation, values: [around(one), around(two)] };
}

/** A nested union whose members have a discriminator with a default. */
function nestedUnion(one: Kind, two: Kind): Kind {
  const name = `Pick${hash(one.annotation + two.annotation)}`;
  const members = [one, two].map(
    ({ annotation }, i) => `class ${name}${i}(BaseModel):\n    pick: Literal["${i}"] = "${i}"\n    of: ${annotation}\n`,
  );
  return {
    annotation: `Annotated[Union[${name}0, ${name}1], Field(discriminator="pick")]`,
    support: [...one.support, ...two.support, ...members],
    values: [
      { pick: "0", of: one.values[0] },
      { pick: "1", of: two.values[1] },
    ],
  };
}

function fieldsOf(fields: RandomField[]): RandomField[] {
  return fields.filter(({ name }, at) => fields.findIndex((other) => other.name === name) === at);
}

function renderClass(className: string, fields: readonly RandomField[], title = className, first = ""): string {
  const lines = fields.map(({ name, annotation, isRequired }, i) => {
    const type = isRequired ? annotation : `Optional[${annotation}]`;
    return `    f${i}: ${type} = Field(${isRequired ? "" : "default=None, "}alias=${JSON.stringify(name)})\n`;
  });
  return `class ${className}(BaseModel):\n    model_config = ConfigDict(title="${title}")\n${first}${lines.join("")}`;
}

function instanceOf(fields: readonly RandomField[], all: boolean): Record<string, unknown> {
  const given = fields.filter(({ isRequired }) => all || isRequired);
  return Object.fromEntries(given.map(({ name, values }) => [name, values[all ? 0 : 1]]));
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
