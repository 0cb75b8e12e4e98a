import * as z from "zod";
import {
  type AsZodObject,
  isForeignSchema,
  type ObjectStandardSchema,
  toZodObject,
} from "../../contract/standard-schema.js";
import { EnvironmentError } from "../../errors.js";
import { snapshot } from "../../util/snapshot.js";
import { nameTask, noSuchIndex, noSuchSplit, type Task, type TaskKeys, type TaskProvider } from "./tasks.js";

/** The tasks of one split: an array, or a list that reads them on access. `at` works like `Array.prototype.at`. */
export interface TaskList {
  readonly length: number;
  at(index: number): Task | undefined;
}

/** A task provider with all methods, which are sync. */
export interface TaskLists<T extends Task = Task> extends TaskProvider<T> {
  splits(): readonly string[];
  list(split: string): T[];
  count(split: string): number;
  get(split: string, index: number): T;
  range(split: string, start?: number, stop?: number): T[];
}

/** A task as its schema returns it, with its place. */
type TaskOf<S> = Fields<S> & Omit<TaskKeys, keyof Fields<S> | "split" | "index"> & { split: string; index: number };
type Fields<S> = z.output<AsZodObject<S>>;
type Splits = Readonly<Record<string, TaskList>>;

/**
 * Creates a task provider from one list for each split. A split named `train` or `test` has that type; all others have
 * the type `validation`. The fields in `hidden`, such as the answer, reach `reset` only: clients never receive them.
 * With a schema, each task is checked when it is read and has its type in `reset`; it also gets its `split` and `index`.
 * A task that cannot be read is an EnvironmentError with its split, its index and the field.
 * @throws TypeError without a split, for a hidden field that the schema lacks, or if the schema is not of an object.
 * @example createTasks(z.object({ question: z.string(), answer: z.int() }), { train: parseJsonl(text) }, { hidden: ["answer"] })
 */
export function createTasks<S extends ObjectStandardSchema>(
  schema: S,
  splits: Splits,
  options?: { hidden?: readonly (keyof Fields<S> & string)[] },
): TaskLists<TaskOf<S>>;
export function createTasks(splits: Splits, options?: { hidden?: readonly string[] }): TaskLists;
export function createTasks(...given: unknown[]): TaskLists {
  const hasSchema = typeof given[0] === "object" && given[0] !== null && "~standard" in given[0];
  const schema = hasSchema ? toSchema(given.shift()) : undefined;
  const [splits, { hidden = [] } = {}] = given as [Splits, { hidden?: readonly string[] }?];
  const unknown = schema && hidden.find((field) => !(field in schema.shape));
  if (unknown !== undefined) throw new TypeError(`hidden: the schema of the tasks has no field "${unknown}".`);
  const lists = new Map(Object.entries(splits));
  const names = [...lists.keys()];
  if (names.length === 0) throw new TypeError("createTasks needs at least one split: createTasks({ train: [ … ] }).");
  const listOf = (split: string): TaskList => {
    const list = lists.get(split);
    if (list === undefined) throw noSuchSplit(split, names);
    return list;
  };
  const get = (split: string, index: number): Task => {
    const list = listOf(split);
    const task = index >= 0 ? readTask(list, split, index) : undefined;
    if (task === undefined) throw noSuchIndex(split, index, list.length);
    // An array returns the same object to every session, which might change it.
    const copy = snapshot(task);
    return schema === undefined ? copy : checkTask(schema, copy, { split, index });
  };
  const range = (split: string, start = 0, stop?: number): Task[] => {
    const { length } = listOf(split);
    const place = (at: number): number => (at < 0 ? Math.max(0, length + at) : Math.min(at, length));
    const [from, to] = [place(start), place(stop ?? length)];
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => get(split, from + i));
  };
  return {
    hidden,
    splits: () => names,
    list: (split) => range(split),
    count: (split) => listOf(split).length,
    get,
    range,
  };
}

function toSchema(given: unknown): z.ZodObject {
  const schema = isForeignSchema(given) ? toZodObject(given, "The schema of the tasks", "input") : given;
  if (schema instanceof z.ZodObject) return schema as z.ZodObject;
  throw new TypeError("The schema of the tasks must be an object schema of zod 4 or of Standard Schema.");
}

/** @throws EnvironmentError with the split, for a line that is not a task. */
function readTask(list: TaskList, split: string, index: number): Task | undefined {
  try {
    return list.at(index);
  } catch (cause) {
    if (!(cause instanceof EnvironmentError)) throw cause;
    throw new EnvironmentError(`${nameTask(split, index)}: ${cause.message}`, { cause });
  }
}

const KEYS = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  difficulty: z.number().optional(),
  group: z.union([z.string(), z.number()]).optional(),
});

/** The task with the types of the schema. Reserved keys need no declaration in it. */
function checkTask(schema: z.ZodObject, task: Task, place: { split: string; index: number }): Task {
  const reserved = {
    ...KEYS.shape,
    split: z.literal(place.split).optional(),
    index: z.literal(place.index).optional(),
  };
  const own = Object.entries(task).filter(([key]) => !(key in reserved) || key in schema.shape);
  const checks = [z.object(reserved).safeParse(task), schema.safeParse(Object.fromEntries(own))];
  const wrong = checks.flatMap(({ error }) => error?.issues ?? []);
  if (wrong.length === 0) return Object.assign({}, ...checks.map(({ data }) => data), place) as Task;
  const reasons = wrong.slice(0, 5).map(({ path, message }) => `${path.join(".") || "the task"}: ${message}`);
  throw new EnvironmentError(`${nameTask(place.split, place.index)} does not fit its schema: ${reasons.join("; ")}`);
}
