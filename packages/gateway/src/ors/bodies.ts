import * as z from "zod";

const object = z.record(z.string(), z.unknown());
const split = z.string();
const index = z.int();

/** `POST /create`: exactly one of `task_spec`, and `split` with `index`. */
export const createRequest = z.strictObject({
  env_name: z.string().nullish(),
  task_spec: object.nullish(),
  split: split.nullish(),
  index: index.nullish(),
  toolset_name: z.string().nullish(),
});
export type CreateRequest = z.output<typeof createRequest>;

/** `POST /create_session`. `task_id`: the answer to an earlier request was cut off behind it. */
export const createSessionRequest = z.strictObject({ env: object.nullish(), task_id: z.string().nullish() });

export const splitRequest = z.strictObject({ split });
export const taskRequest = z.strictObject({ split, index });
export const taskRangeRequest = z.strictObject({ split, start: index.nullish(), stop: index.nullish() });

/** `POST /{env}/call`. With the `task_id` of an earlier call, its stream begins again: the call is executed only if it has no result. */
export const call = z.strictObject({ name: z.string(), input: object, task_id: z.string().nullish() });
export type CallRequest = z.output<typeof call>;
/** Compiled, because calls are the most frequent requests. */
export const callRequest = z.compile(call);
