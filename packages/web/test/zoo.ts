import { createTasks, defineContract, defineEnvironment, image } from "openenv-ts";
import * as z from "zod";

/** A red dot of 2 by 2 pixels. */
export const DOT = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==`;
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

const point = z.object({ x: z.number(), y: z.number().default(0) });
const shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number().positive() }),
  z.object({ kind: z.literal("square"), side: z.number().positive() }),
]);

const contract = defineContract({
  name: "zoo_env",
  description: "One field of every kind that a schema can have.",
  action: z.object({
    name: z
      .string()
      .min(2)
      .max(20)
      .refine((name) => name !== "taken", "This name is taken")
      .describe("A short text"),
    code: z
      .string()
      .regex(/^[A-Z]{3}$/)
      .default("ABC")
      .describe("Three capital letters"),
    mail: z.email().optional(),
    count: z.int().min(1).max(10).default(3).describe("How many"),
    ratio: z.number().min(0).max(1).optional(),
    flag: z.boolean().default(false).describe("Whether it counts"),
    color: z.enum(["red", "green", "blue"]).describe("A colour"),
    fixed: z.literal("zoo").default("zoo"),
    note: z.string().nullable().default(null).describe("Text or nothing"),
    tags: z.array(z.string().min(1)).max(3).default([]).describe("Words"),
    sizes: z
      .array(z.enum(["s", "m", "l"]))
      .default([])
      .meta({ uniqueItems: true })
      .describe("Several of a few"),
    points: z.array(point).default([]).describe("Places"),
    pair: z.tuple([z.string(), z.int()]).optional().describe("A word and a number"),
    home: point.optional().describe("A place that may be left out"),
    extra: z.record(z.string(), z.int()).default({}).describe("Named numbers"),
    shape: shape.optional().describe("One of two"),
    either: z.union([z.string(), z.int()]).optional().describe("A text or a number"),
  }),
  observation: z.object({
    received: z.record(z.string(), z.unknown()).default({}).describe("The action as it came"),
    hostile: z.string().default(HOSTILE),
    picture: image().default(DOT),
    long: z.array(z.number()).default([]),
    deep: z.record(z.string(), z.unknown()).default({}),
  }),
  reset: z.object({ level: z.int().min(1).max(5).default(1).describe("How hard") }),
  state: z.object({ level: z.int().default(0) }),
});

/** Takes anything that fits, and gives it back. */
export default defineEnvironment(
  contract,
  () => {
    let level = 0;
    return {
      reset: (given) => {
        level = given.level;
        return { observation: {} };
      },
      step: (action) => {
        if (action.name === "fail") throw new Error("this name fails");
        return {
          observation: {
            received: action as Record<string, unknown>,
            long: Array.from({ length: 10_000 }, (_, index) => index / 10),
            deep: { a: { b: { c: { d: ["deep text"] } } } },
          },
          reward: action.count,
        };
      },
      state: () => ({ level }),
    };
  },
  { tasks: createTasks({ train: [{ id: 1 }, { id: 2 }, { id: 3 }] }) },
);
