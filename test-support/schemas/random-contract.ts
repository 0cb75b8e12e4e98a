/** Random actions of environments in TypeScript: a union of objects, and values for each variant. */
import * as fc from "fast-check";
import * as z from "zod";

interface Kind {
  schema: z.ZodType;
  values: [unknown, unknown];
}

export interface RandomContract {
  action: z.ZodUnion<[z.ZodObject, z.ZodObject]>;
  variants: { className: string; tag: Record<string, string>; values: Record<string, unknown>[] }[];
}

function kind(schema: z.ZodType, value: fc.Arbitrary<unknown>): fc.Arbitrary<Kind> {
  return fc.tuple(value, value).map((values) => ({ schema, values }));
}

const text = fc.string({ maxLength: 8 });
const moment = fc
  .integer({ min: 0, max: 4_000_000_000 })
  .map((seconds) => new Date(seconds * 1000).toISOString().replace(".000", ""));
const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

const scalar: fc.Arbitrary<Kind> = fc.oneof(
  kind(z.string(), text),
  kind(z.int().min(-5).max(500), fc.integer({ min: -5, max: 500 })),
  kind(
    z.number(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  ),
  kind(z.boolean(), fc.boolean()),
  kind(z.enum(["a", "b c", ""]), fc.constantFrom("a", "b c", "")),
  kind(z.literal([1, 2]), fc.constantFrom(1, 2)),
  kind(z.iso.datetime(), moment),
  kind(
    z.iso.date(),
    moment.map((date) => date.slice(0, 10)),
  ),
  kind(
    z.iso.time(),
    moment.map((date) => date.slice(11, 19)),
  ),
  kind(z.iso.duration(), fc.constantFrom("PT1H30M", "P2DT3S")),
  kind(z.uuid(), fc.uuid({ version: 4 })),
  kind(tree, fc.constantFrom({ name: "a", children: [] }, { name: "b", children: [{ name: "c", children: [] }] })),
  kind(z.json(), fc.constantFrom<unknown>(null, 1, "x", [1, ["y"]], { a: { b: [true] } })),
  kind(z.union([z.int(), z.string(), z.array(z.int())]), fc.oneof(fc.integer(), text, fc.array(fc.integer()))),
  kind(z.partialRecord(z.enum(["a", "b"]), z.int()), fc.constantFrom({ a: 1 }, {})),
  kind(z.looseObject({ x: z.int() }), fc.constantFrom({ x: 1, y: [2] }, { x: 3 })),
  kind(z.intersection(z.object({ x: z.int() }), z.object({ y: z.string() })), fc.constant({ x: 1, y: "z" })),
);

const NAMES = ["x", "from", "class", "list", "date", "time", "bytes", "model_id", "my-field", "2nd", "_hidden", "é"];

const { any } = fc.letrec<{ any: Kind; object: Kind }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    { weight: 5, arbitrary: scalar },
    tie("any").map((inner) => around(inner, z.array(inner.schema), (value) => [value])),
    tie("any").map((inner) => around(inner, z.record(z.string(), inner.schema), (value) => ({ "4": value }))),
    tie("any").map((inner) => around(inner, z.tuple([inner.schema, z.int()]), (value) => [value, 7])),
    tie("any").map((inner) => around(inner, z.nullable(inner.schema), () => null)),
    tie("object"),
    fc.tuple(tie("any"), tie("any")).map(([one, two]): Kind => {
      const left = z.object({ pick: z.literal("left"), of: one.schema });
      const right = z.object({ pick: z.literal("right"), of: two.schema });
      const values: Kind["values"] = [
        { pick: "left", of: one.values[0] },
        { pick: "right", of: two.values[1] },
      ];
      return { schema: z.discriminatedUnion("pick", [left, right]), values };
    }),
  ),
  object: fc
    .dictionary(fc.constantFrom(...NAMES), fc.tuple(tie("any"), fc.boolean()), { maxKeys: 3 })
    .map((fields) => ({ schema: z.object(shapeOf(fields)), values: [sampleOf(fields, 0), sampleOf(fields, 1)] })),
}));

const VERBS = ["click", "wait", "double click", "stop", "key_down"];

/** A union of two to four objects: with a tag, or with titles and a field that only one of them has. */
export const randomContract: fc.Arbitrary<RandomContract> = fc
  .record({
    tag: fc.constantFrom(undefined, "kind", "type"),
    hasTitles: fc.boolean(),
    variants: fc.uniqueArray(
      fc.record({
        verb: fc.constantFrom(...VERBS),
        fields: fc.dictionary(fc.constantFrom(...NAMES), fc.tuple(any, fc.boolean()), { maxKeys: 4 }),
      }),
      { selector: ({ verb }) => verb, minLength: 2, maxLength: 4 },
    ),
  })
  .map(({ tag, hasTitles, variants }) => {
    const isTitled = hasTitles || tag === undefined;
    const made = variants.map(({ verb, fields }) => {
      const own = `by_${verb.replace(" ", "_")}`;
      const first = tag === undefined ? { [own]: z.int() } : { [tag]: z.literal(verb) };
      const schema = z.object({ ...first, ...shapeOf(fields) });
      const title = `Do ${verb}`;
      const given = tag === undefined ? { [own]: 1 } : {};
      return {
        schema: isTitled ? schema.meta({ title }) : schema,
        className: pascal(isTitled ? title : verb),
        tag: (tag === undefined ? {} : { [tag]: verb }) as Record<string, string>,
        values: [
          { ...given, ...sampleOf(fields, 0) },
          { ...given, ...sampleOf(fields, 1) },
        ],
      };
    });
    const schemas = made.map(({ schema }) => schema) as unknown as [z.ZodObject, z.ZodObject];
    return {
      action: tag === undefined ? z.union(schemas) : z.discriminatedUnion(tag, schemas as never),
      variants: made,
    };
  });

type Fields = Record<string, [Kind, boolean]>;

function shapeOf(fields: Fields): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, [{ schema }, isRequired]]) => [name, isRequired ? schema : schema.optional()]),
  );
}

/** The second value has only the fields that are required. */
function sampleOf(fields: Fields, which: 0 | 1): Record<string, unknown> {
  const given = Object.entries(fields).filter(([, [, isRequired]]) => which === 0 || isRequired);
  return Object.fromEntries(given.map(([name, [{ values }]]) => [name, values[which]]));
}

function around({ values: [one, two] }: Kind, schema: z.ZodType, wrap: (value: unknown) => unknown): Kind {
  return { schema, values: [wrap(one), wrap(two)] };
}

function pascal(words: string): string {
  return words
    .split(/[ _]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
