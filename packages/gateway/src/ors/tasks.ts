import type { JsonObject } from "openenv-ts/protocol";
import type { Host } from "../host.js";
import type { CreateRequest } from "./bodies.js";
import { Refusal } from "./refusal.js";

type Provider = NonNullable<Host["context"]["runtime"]["definition"]["tasks"]>;
type Method = Exclude<keyof Provider, "hidden">;

/** The split of an environment without tasks. */
const SEEDS = { name: "train", type: "train" } as const;
/** The member of a task that says where it lies, by which a session with the task begins. */
const PLACE = "openenv";

/**
 * The tasks of an environment, or seeds for an environment without tasks. A seed as a task is the data of a reset:
 * `{ seed: 3 }`. Other tasks say where they lie: `{ …, openenv: { split, index } }`.
 */
export class OrsTasks {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  async splits(): Promise<object[]> {
    if (this.#provider === undefined) return [SEEDS];
    return (await this.#splits()).map(({ name, type }) => ({ name, type }));
  }

  async count(split: string): Promise<number> {
    if (this.#provider === undefined) return this.#seeds(split);
    await this.#checkSplit(split);
    return (await this.#ask("count", [split])) as number;
  }

  async list(split: string): Promise<JsonObject[]> {
    if (this.#provider === undefined) return this.range(split, undefined, undefined);
    await this.#checkSplit(split);
    const tasks = (await this.#ask("list", [split])) as JsonObject[];
    return tasks.map((task, index) => place(task, { split, index }));
  }

  async get(split: string, index: number): Promise<JsonObject> {
    if (this.#provider === undefined) return this.#seed(split, index);
    await this.#checkSplit(split);
    return place((await this.#ask("get", [split, index])) as JsonObject, { split, index });
  }

  /** The tasks of a slice: `stop` is exclusive, and negative numbers count from the end. */
  async range(split: string, start: number | undefined, stop: number | undefined): Promise<JsonObject[]> {
    const count = await this.count(split);
    const [from, to] = [clamp(start ?? 0, count), clamp(stop ?? count, count)];
    if (this.#provider === undefined) {
      return Array.from({ length: Math.max(to - from, 0) }, (_, at) => ({ seed: from + at }));
    }
    const tasks = (await this.#ask("range", [split, from, to])) as JsonObject[];
    return tasks.map((task, at) => place(task, { split, index: from + at }));
  }

  /** The data of the reset that begins the task. @throws Refusal (400) for a task that does not exist. */
  async toReset({ task_spec, split, index }: CreateRequest): Promise<JsonObject> {
    if (task_spec != null) return this.#fromSpec(task_spec);
    const wanted = { split: split as string, index: index as number };
    if (this.#provider === undefined) return this.#seed(wanted.split, wanted.index);
    await this.#check(wanted);
    return wanted;
  }

  async #fromSpec(spec: JsonObject): Promise<JsonObject> {
    if (this.#provider === undefined) return this.#checkReset(spec);
    const { [PLACE]: given, ...task } = spec;
    const { split, index, ...more } = Object(given) as JsonObject;
    if (typeof split !== "string" || !Number.isSafeInteger(index) || Object.keys(more).length > 0) {
      throw new Refusal(400, `task_spec needs its member "${PLACE}" with split and index: take it as /task returns it`);
    }
    const wanted = { split, index: index as number };
    const known = await this.#check(wanted);
    const { canonicalJson } = this.#host.parts;
    if (known !== undefined && canonicalJson(known) !== canonicalJson(task)) {
      throw new Refusal(400, `task_spec is not task ${wanted.index} of split "${split}": take it as /task returns it`);
    }
    return wanted;
  }

  /** @throws Refusal (400) for what is not an option of the reset. */
  #checkReset(data: JsonObject): JsonObject {
    const checked = this.#host.context.runtime.validator.reset(data);
    if (!checked.ok) {
      const [issue] = checked.issues;
      throw new Refusal(400, `task_spec is not valid: ${issue?.loc.join(".") || "task_spec"}: ${issue?.msg}`);
    }
    const [unknown] = checked.value.dropped;
    if (unknown !== undefined) throw new Refusal(400, `"${unknown.slice(0, 100)}" is not an option of the reset`);
    return data;
  }

  /** The task, if the provider returns single tasks. */
  async #check({ split, index }: { split: string; index: number }): Promise<JsonObject | undefined> {
    const count = this.#provider?.count === undefined ? undefined : await this.count(split);
    if (index < 0 || (count !== undefined && index >= count)) throw invalidIndex(split, index, count);
    await this.#checkSplit(split);
    return this.#provider?.get === undefined ? undefined : ((await this.#ask("get", [split, index])) as JsonObject);
  }

  #seed(split: string, index: number): JsonObject {
    const count = this.#seeds(split);
    if (index < 0 || index >= count) throw invalidIndex(split, index, count);
    return { seed: index };
  }

  #seeds(split: string): number {
    if (split !== SEEDS.name) throw new Refusal(400, `Invalid split: the environment has only "${SEEDS.name}"`);
    return this.#host.context.orsSeeds;
  }

  async #checkSplit(split: string): Promise<void> {
    if (this.#provider?.splits === undefined) return;
    const splits = await this.#splits();
    if (splits.some(({ name }) => name === split)) return;
    throw new Refusal(400, `Invalid split: choose one of ${splits.map(({ name }) => `"${name}"`).join(", ")}`);
  }

  async #splits(): Promise<{ name: string; type: string }[]> {
    return (await this.#ask("splits", [])) as { name: string; type: string }[];
  }

  async #ask<K extends Method>(method: K, args: Parameters<NonNullable<Provider[K]>>): Promise<unknown> {
    const found = await this.#host.parts.askTasks(this.#host.context.runtime, method, args);
    if ("value" in found) return found.value;
    // A client of ORS falls back to other requests after 400.
    throw new Refusal(found.status === 501 ? 400 : found.status, found.message);
  }

  get #provider(): Provider | undefined {
    return this.#host.context.runtime.definition.tasks;
  }
}

function place(task: JsonObject, where: { split: string; index: number }): JsonObject {
  return { ...task, [PLACE]: where };
}

function clamp(value: number, count: number): number {
  return Math.min(Math.max(value < 0 ? count + value : value, 0), count);
}

function invalidIndex(split: string, index: number, count: number | undefined): Refusal {
  const there = count === undefined ? "" : `, which has ${count} tasks`;
  return new Refusal(400, `Invalid index ${index} in split "${split.slice(0, 100)}"${there}`);
}
