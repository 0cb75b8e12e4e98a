import fc from "fast-check";
import * as z from "zod";

/** A schema and a value that fits it; undefined where the field is left out. */
interface Case {
  schema: z.ZodType;
  value: unknown;
}

/** The types of JSON that a schema takes: where those of a union's choices differ, a value says which is meant. */
function kindsOf(schema: z.ZodType): string[] {
  const kinds = (json: z.core.JSONSchema._JSONSchema): string[] => {
    if (typeof json === "boolean") return [];
    // The only one that is referred to.
    if (json.$ref !== undefined) return ["object"];
    if (json.type) return [json.type].flat().map((type) => type.replace("integer", "number"));
    return [...(json.anyOf ?? []), ...(json.oneOf ?? [])].flatMap(kinds);
  };
  return kinds(z.toJSONSchema(schema, { io: "input" }));
}

function differ(a: z.ZodType, b: z.ZodType): boolean {
  const taken = kindsOf(a);
  return !kindsOf(b).some((kind) => taken.includes(kind));
}

/** Contains itself. */
const chain = z.object({
  name: z.string(),
  get next() {
    return chain.optional();
  },
});

const leaf: fc.Arbitrary<Case> = fc.oneof(
  fc
    .string({ minLength: 1, maxLength: 8, unit: fc.constantFrom("a", "é", " ", '"', "\n", "<") })
    .map((value) => ({ schema: z.string(), value })),
  fc
    .string({ minLength: 2, maxLength: 4, unit: fc.constantFrom("x", "y") })
    .map((value) => ({ schema: z.string().min(2).max(4), value })),
  fc.integer({ min: -9, max: 9 }).map((value) => ({ schema: z.int().min(-9).max(9), value })),
  fc.integer().map((value) => ({ schema: z.number(), value: value / 8 })),
  fc.boolean().map((value) => ({ schema: z.boolean(), value })),
  fc.constantFrom("left", "right").map((value) => ({ schema: z.enum(["left", "right"]), value })),
  fc.constantFrom("zoo", 3, true).map((value) => ({ schema: z.literal(value), value })),
  fc.constantFrom(1, 2.5, -3).map((value) => ({ schema: z.literal([1, 2.5, -3]), value })),
  fc.constantFrom({ name: "a" }, { name: "a", next: { name: "b", next: { name: "c" } } }).map((value) => ({
    schema: chain,
    value,
  })),
  fc.constant({ schema: z.email(), value: "a@example.org" }),
  fc.constantFrom("2024-02-29T08:30:00Z", "1999-12-31T23:59:59.250Z").map((value) => ({
    schema: z.iso.datetime(),
    value,
  })),
);

/** Lists whose items differ, also in what they leave out and in which choice of a union they are. */
const list: fc.Arbitrary<Case> = fc.oneof(
  items(z.int(), fc.integer({ min: -9, max: 9 })),
  items(z.enum(["s", "m", "l"]), fc.constantFrom("s", "m", "l")),
  items(z.union([z.string(), z.int(), z.null()]), fc.constantFrom("a", "b", 1, 2, null)),
  items(
    z.object({ x: z.int(), note: z.string().optional(), on: z.boolean().default(true) }),
    fc.record(
      { x: fc.integer({ min: -9, max: 9 }), note: fc.constantFrom("a", "b"), on: fc.boolean() },
      { requiredKeys: ["x"] },
    ),
  ),
);

function items(item: z.ZodType, value: fc.Arbitrary<unknown>): fc.Arbitrary<Case> {
  const values = fc.uniqueArray(value, { minLength: 2, maxLength: 4, comparator: "SameValue" });
  return values.map((found) => ({ schema: z.array(item), value: found }));
}

const name = fc.oneof(
  fc.stringMatching(/^[a-z_]{1,6}$/),
  fc.constantFrom("default", "type", "properties", "a.b", "a/b", "A b"),
);
const presence = fc.constantFrom("required", "given", "left out", "default", "nullish");

const { object } = fc.letrec<{ any: Case; object: Case }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", maxDepth: 3, withCrossShrink: true },
    leaf,
    list,
    tie("object"),
    fc
      .tuple(tie("any"), fc.nat(2))
      .map(([item, length]) => ({ schema: z.array(item.schema), value: Array<unknown>(length).fill(item.value) })),
    fc
      .tuple(tie("any"), tie("any"))
      .map(([a, b]) => ({ schema: z.tuple([a.schema, b.schema]), value: [a.value, b.value] })),
    tie("any").map(({ schema, value }) => ({ schema: z.record(z.string(), schema), value: { one: value } })),
    fc.tuple(tie("any"), tie("any"), fc.boolean()).map(([a, b, first]) => ({
      schema: z.union(differ(a.schema, b.schema) ? [a.schema, b.schema] : [a.schema]),
      value: (first || !differ(a.schema, b.schema) ? a : b).value,
    })),
    fc.tuple(tie("any"), tie("any"), fc.boolean()).map(([a, b, first]) => ({
      schema: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("a"), of_a: a.schema }),
        z.object({ kind: z.literal("b"), of_b: b.schema.optional() }),
      ]),
      value: first ? { kind: "a", of_a: a.value } : { kind: "b" },
    })),
    fc
      .tuple(tie("any"), fc.boolean())
      .map(([{ schema, value }, isNull]) => ({ schema: schema.nullable(), value: isNull ? null : value })),
  ),
  object: fc.dictionary(name, fc.tuple(tie("any"), presence), { maxKeys: 4, noNullPrototype: true }).map((fields) => {
    const entries = Object.entries(fields).map(([key, [one, how]]) => [key, inField(one, how)] as const);
    const given = entries.filter(([, { value }]) => value !== undefined).map(([key, { value }]) => [key, value]);
    return {
      schema: z.object(Object.fromEntries(entries.map(([key, { schema }]) => [key, schema]))),
      value: Object.fromEntries(given) as unknown,
    };
  }),
}));

function inField({ schema, value }: Case, how: string): Case {
  if (how === "required") return { schema, value };
  if (how === "default") return { schema: schema.prefault(value as never), value: undefined };
  if (how === "nullish") return { schema: schema.nullish(), value: undefined };
  return { schema: schema.optional(), value: how === "given" ? value : undefined };
}

export { object as objectCase };
