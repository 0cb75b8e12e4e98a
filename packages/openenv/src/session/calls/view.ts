import * as z from "zod";
import { TONES, type View, type ViewAction, type ViewPart } from "../../protocol/web.js";
import { toJsonSafe } from "../../validation/json-safe.js";
import { describeError, faultOf, toError } from "../failure.js";
import { CALL, markCall } from "./call-marks.js";
import type { CallTarget } from "./observation.js";

/** Time limit for each of `render` and `actions`; the step waits for them. */
const LIMIT_MS = 5_000;
const MAX_PARTS = 256;
const MAX_RUNS = 10_000;
const MAX_ACTIONS = 100;
const MAX_LABEL = 200;
/** Maximum length of one result as JSON. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

const run = z.strictObject({ text: z.string(), tone: z.enum(TONES).optional(), mono: z.boolean().optional() });
/** Images only, because other data URLs could be pages. */
const picture = z.string().regex(/^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/, {
  error: "must be a data URL of a PNG, JPEG, GIF, WebP, AVIF or SVG image",
});
const parts = z
  .array(
    z.discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("text"), runs: z.array(run).max(MAX_RUNS) }),
      z.strictObject({ kind: z.literal("image"), src: picture, alt: z.string() }),
    ]),
  )
  .max(MAX_PARTS);
const actions = z
  .array(z.strictObject({ label: z.string().min(1).max(MAX_LABEL), action: z.record(z.string(), z.unknown()) }))
  .max(MAX_ACTIONS);

/**
 * Calls the author's `render` and `actions` with an observation. Never rejects: a failure is a `problem` of the view.
 */
export async function makeView(
  observation: Record<string, unknown>,
  { environment, session }: CallTarget,
): Promise<View> {
  const { log, mode, number } = session.runtime;
  const of = { server: number, session: session.tag };
  const problems: string[] = [];
  const ask = async (method: "render" | "actions", schema: z.ZodType): Promise<unknown[]> => {
    if (environment[method] === undefined) return [];
    try {
      const made = await withLimit(
        (async () => markCall(of, CALL[method], () => environment[method]?.(observation)))(),
      );
      return checkView(method, made, schema);
    } catch (error) {
      log.warn({ err: toError(error), fault: faultOf(error) }, `the environment failed in ${method}`);
      problems.push(`${method}: ${describeError(error, mode)}`);
      return [];
    }
  };
  const view: View = {
    parts: (await ask("render", parts)) as ViewPart[],
    actions: (await ask("actions", actions)) as ViewAction[],
  };
  return problems.length === 0 ? view : { ...view, problem: problems.join("; ") };
}

/** @throws InvalidOutputError or Error with the path of the problem. */
function checkView(name: string, made: unknown, schema: z.ZodType): unknown[] {
  const { value } = toJsonSafe(made, name);
  const checked = schema.safeParse(value);
  if (!checked.success) throw new Error(z.prettifyError(checked.error));
  const size = JSON.stringify(value).length;
  if (size > MAX_CHARACTERS) throw new Error(`the result has ${size} characters, the maximum is ${MAX_CHARACTERS}`);
  return value as unknown[];
}

function withLimit<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`it took longer than ${LIMIT_MS / 1000} s`)), LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
