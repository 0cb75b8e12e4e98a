import * as z from "zod";
import type { ObjectSchema } from "../contract/contract.js";
import type { RESET_KEYS } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import { type Checked, parseInput, withFields } from "./parse-input.js";

/** What a reset asks for. Options that were absent or null are undefined. */
export interface ResetInput {
  seed: number | undefined;
  episodeId: string | undefined;
  split: string | undefined;
  index: number | undefined;
  /** The contract's own options. */
  fields: JsonObject;
  /** Keys that nobody declared; they were left out. */
  dropped: string[];
}

const BASE_FIELDS = {
  seed: z.int().min(0).nullish(),
  episode_id: z.string().max(255).nullish(),
  split: z.string().nullish(),
  index: z.int().nullish(),
} satisfies Record<(typeof RESET_KEYS)[number], z.ZodType>;

/** Makes the check of a reset's data. Undeclared keys are dropped, as in the reference, but named. */
export function createResetCheck(own: ObjectSchema): (data: JsonObject) => Checked<ResetInput> {
  const open = own.def.catchall;
  // A strict schema would refuse what the protocol drops.
  const keepsOthers = open !== undefined && open._zod.def.type !== "never";
  const schema = z.compile(withFields(own, BASE_FIELDS, keepsOthers ? open : undefined));
  return (data) => {
    const checked = parseInput(schema, data);
    if (!checked.ok) return checked;
    const { seed, episode_id, split, index, ...fields } = checked.value as z.output<z.ZodObject<typeof BASE_FIELDS>>;
    const dropped = keepsOthers ? [] : Object.keys(data).filter((key) => !Object.hasOwn(schema.shape, key));
    return {
      ok: true,
      value: {
        seed: seed ?? undefined,
        episodeId: episode_id ?? undefined,
        split: split ?? undefined,
        index: index ?? undefined,
        fields,
        dropped,
      },
    };
  };
}
