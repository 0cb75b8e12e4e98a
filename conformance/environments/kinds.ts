import { type Action, bytes, datetime, defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const Color = z.enum(["red", "blue"]).meta({ id: "Color" });
const Point = z
  .object({ x: z.int(), y: z.number().default(0.5), label: z.string().nullable().default(null) })
  .meta({ id: "Point" });
const REWARDS = ["none", "int", "float", "true", "false", "nan", "inf", "string"] as const;

const contract = defineContract({
  name: "Kinds",
  version: "2.3.4",
  description: "Every kind of field",
  action: z.object({
    text: z.string().min(1).max(20).describe("A text"),
    whole: z.int().min(0).max(10).default(3),
    ratio: z.number().gt(0).lt(1).default(0.25),
    flag: z.boolean().default(false),
    color: Color.default("red"),
    pick: z.literal(["a", "b"]).default("a"),
    maybe: z.int().nullable().default(null),
    items: z.array(z.int()).max(3).default([]),
    table: z.record(z.string(), z.number()).default({}),
    point: Point.default({ x: 1, y: 0.5, label: null }),
    maybe_point: Point.nullable().default(null),
    points: z.array(Point).default([]),
    either: z.union([z.int(), z.string()]).default(0),
    pair: z.tuple([z.int(), z.string()]).default([1, "one"]),
    when: datetime().nullable().default(null),
    ident: z.guid().nullable().default(null),
    anything: z.unknown().default(null),
    reward_kind: z.literal(REWARDS).default("none"),
  }),
  observation: z.object({
    text: z.string().default(""),
    color: Color.default("red"),
    pick: z.literal(["a", "b"]).default("a"),
    maybe: z.int().nullable().default(null),
    items: z.array(z.int()).default([]),
    unique: z.array(z.int()).meta({ uniqueItems: true }).default([]),
    table: z.record(z.string(), z.number()).default({}),
    int_keys: z.record(z.string(), z.string()).default({}),
    point: Point.nullable().default(null),
    points: z.array(Point).default([]),
    either: z.union([z.int(), z.string()]).default(0),
    pair: z.tuple([z.int(), z.string()]).default([1, "one"]),
    when: datetime().nullable().default(null),
    ident: z.guid().nullable().default(null),
    blob: bytes().prefault("YWI="),
    anything: z.unknown().default(null),
    big: z
      .number()
      .meta({ type: "integer" })
      .default(2 ** 60),
    ratio: z.number().default(1),
    required_no_default: z.string(),
  }),
  state: z.looseObject({}),
  reset: z.looseObject({}),
});

/** One field of every kind. */
export const kinds = defineEnvironment(
  contract,
  () => {
    let keys: string[] | undefined;
    return {
      reset({ seed: _seed, episodeId: _id, split, index, timeoutMs: _ms, signal: _signal, ...own }) {
        const kwargs = { ...own, ...(split !== undefined && { split }), ...(index !== undefined && { index }) };
        keys = Object.keys(kwargs).sort();
        const anything = keys.length > 0 ? kwargs : null;
        return {
          observation: { required_no_default: "reset", anything },
          metadata: anything === null ? {} : { kwargs },
        };
      },
      step(action: Action<typeof contract>, { requestId }) {
        const { text, color, pick, maybe, items, table, point, points, either, pair, when, ident, anything } = action;
        const copied = { text, color, pick, maybe, items, table, point, points, either, pair, when, ident, anything };
        return {
          observation: {
            ...copied,
            unique: [...new Set(items)].sort(),
            int_keys: Object.fromEntries(items.map((item) => [item, String(item)])),
            ratio: action.reward_kind === "nan" ? Number.NaN : action.ratio,
            required_no_default: "step",
          },
          reward: rewardOf(action.reward_kind),
          metadata: requestId === undefined ? {} : { kwargs: { request_id: requestId } },
        };
      },
      state: () => (keys === undefined ? {} : { last_kwargs: keys }),
    };
  },
  {
    stepBeforeReset: "allow",
    readme: "# Kinds",
    author: "someone",
    documentationUrl: "https://example.org/docs",
  },
);

function rewardOf(kind: (typeof REWARDS)[number]): number | boolean | null {
  const rewards = { none: null, int: 2, float: 2.0, true: true, false: false, nan: Number.NaN, inf: Infinity };
  // The recorded environment returns a string here, which the types do not allow.
  return kind === "string" ? ("much" as never) : rewards[kind];
}
