import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const Area = z.object({ width: z.int(), height: z.int().default(1) }).meta({ id: "Area" });
const observation = z.object({ did: z.record(z.string(), z.unknown()).default({}) });

const tagged = defineContract({
  name: "variants",
  action: z
    .discriminatedUnion("kind", [
      z
        .object({
          kind: z.literal("click"),
          x: z.int().min(0).max(1000),
          button: z.literal(["left", "right"]).default("left"),
        })
        .meta({ id: "Click", description: "Clicks." }),
      z
        .object({ kind: z.literal("hot_key"), keys: z.array(z.string()).min(1), area: Area.nullable().default(null) })
        .meta({ id: "HotKey", description: "Presses keys." }),
    ])
    .meta({ title: "VariantAction", description: "A click or keys." }),
  observation: observation.meta({ title: "UnionObservation", description: "What was done." }),
});

const plain = defineContract({
  name: "choices",
  action: z
    .union([
      z.object({ text: z.string() }).meta({ id: "TypeText", description: "Types." }),
      z.object({ path: z.array(z.int()), speed: z.number().default(1) }).meta({ id: "Drag", description: "Drags." }),
    ])
    .meta({ title: "ChoiceAction", description: "A text or a path." }),
  observation: tagged.observation,
});

/** The action is a discriminated union of objects. */
export const variants = defineEnvironment(
  tagged,
  () => ({
    reset: () => ({ observation: {} }),
    step: (action) => ({ observation: { did: action }, reward: action.kind === "click" ? action.x : 0.5 }),
  }),
  { stepBeforeReset: "allow" },
);

/** The action is a plain union of objects. */
export const choices = defineEnvironment(
  plain,
  () => ({
    reset: () => ({ observation: {} }),
    step: (action) => ({ observation: { did: action }, reward: "text" in action ? action.text.length : action.speed }),
  }),
  { stepBeforeReset: "allow" },
);
