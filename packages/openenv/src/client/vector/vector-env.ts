import type { ClientContract, GenericContract, Received, Sent } from "../contract/contract.js";
import type { Operation, Operations } from "../operations.js";
import type { Autoreset, CallOptions, ForkOptions, GroupOptions, ResetValues } from "../options.js";
import {
  type EpisodeState,
  type FailedResult,
  type TryResult,
  toFailedResult,
  type VectorPosition,
  type VectorResult,
} from "../result.js";
import type { ToolCallInput, ToolName, ToolStepResult, VectorToolResult } from "../tools/tool-methods.js";
import { takeTurn } from "../transport/turns.js";
import { Completions } from "./completions.js";
import type { Called, VectorEngine } from "./engine.js";
import { startGroups } from "./groups.js";
import { openState, type Slot } from "./slot.js";

interface VectorParts<C extends ClientContract> {
  urls: readonly string[];
  engine: VectorEngine;
  operations: Operations<C>;
  timeoutMs: number;
  autoreset: Autoreset;
  resetWith: ((index: number) => ResetValues<C>) | undefined;
  ownSockets: boolean;
  closeServers(): Promise<void>;
}

/**
 * Many sessions of one environment, on one or several servers, that are called together. Results are in the order of
 * the sessions, with null for a session that was skipped. A failed session does not reject the call: its result has
 * `outcome` `env_error` when the server answered with an error or rejected the session, `lost` when the episode is
 * lost; mask both. The next reset of a lost or rejected session opens another one, on any server that has room.
 */
export class VectorEnv<C extends ClientContract = GenericContract> implements AsyncDisposable {
  /** The number of sessions. */
  readonly size: number;
  /** The URLs of the servers. */
  readonly urls: readonly string[];
  readonly #parts: VectorParts<C>;
  /** The pending results of `asCompleted`. */
  readonly #completions = new Completions<VectorResult<C>>();
  #closing: Promise<void> | undefined;

  /** Called by `connectVector`. */
  constructor(parts: VectorParts<C>) {
    this.size = parts.engine.slots.length;
    this.urls = parts.urls;
    this.#parts = parts;
  }

  /** Returns the URL of the server of each session; null for a session that is not open. */
  places(): (string | null)[] {
    return this.#parts.engine.slots.map((slot) => {
      const group = openState(slot)?.group;
      return group?.up ? group.target.url : null;
    });
  }

  /** The numbers of lost connections that were replaced since the start, and of sessions that continued on them. */
  recoveries(): { connections: number; sessions: number } {
    const all = { connections: 0, sessions: 0 };
    for (const { recoveries } of this.#parts.engine.targets) {
      all.connections += recoveries.connections;
      all.sessions += recoveries.sessions;
    }
    return all;
  }

  /** Starts an episode in every session, with the same options or an array of options; null skips a session. */
  async reset(
    options: ResetValues<C> | readonly (ResetValues<C> | null)[] = {} as ResetValues<C>,
    call: CallOptions = {},
  ): Promise<(VectorResult<C> | null)[]> {
    const all: unknown[] = Array.isArray(options) ? options : Array(this.size).fill(options);
    const values = this.#bySlot(all as (ResetValues<C> | null)[]);
    return this.#inOrder(await takeTurn([...values.keys()], call.signal, () => this.#begin(values, call)));
  }

  /**
   * Divides the sessions in order into groups of the same size, one for each element of `starts`, and starts episodes
   * that begin alike within a group: each session is reset with the options of its group, which should name a seed or a
   * task. The results of these episodes have the number of their group as `groupId`.
   * @throws TypeError when the groups would not have the same size.
   * @example await envs.resetGroups([{ seed: 1 }, { seed: 2 }]);
   */
  async resetGroups(
    starts: readonly ResetValues<C>[],
    options: GroupOptions & CallOptions = {},
  ): Promise<VectorResult<C>[]> {
    const { engine, timeoutMs } = this.#parts;
    const results = await startGroups(this, starts, options, (indices) => {
      const slots = indices.map((index) => engine.slots[index] as Slot);
      return takeTurn(slots, undefined, () => engine.end(slots, { timeoutMs }));
    });
    return results.map((result, index) => {
      const groupId = Math.floor((index * starts.length) / this.size);
      (engine.slots[index] as Slot).groupId = groupId;
      return inGroup({ ...result, groupId });
    });
  }

  /** Steps each session with its action; null skips a session. */
  async step(
    actions: readonly (Sent<C["action"]> | null)[],
    call: CallOptions = {},
  ): Promise<(VectorResult<C> | null)[]> {
    return this.#inOrder(await this.#advance(this.#parts.operations.step, this.#bySlot(actions), call));
  }

  /**
   * Calls a tool in each session, which is a step; null skips a session. Sessions can call different tools.
   * @example await envs.callTools([{ name: "search", arguments: { text: "Du" } }, { name: "hint" }, null]);
   */
  async callTools<K extends ToolName<C>>(
    calls: readonly (ToolCallInput<C, K> | null)[],
    call: CallOptions = {},
  ): Promise<(VectorToolResult<C, K> | null)[]> {
    const values = this.#bySlot(calls as readonly ({ name: string; arguments?: unknown } | null)[]);
    const results = await this.#advance(this.#parts.operations.callTool, values, call);
    return this.#inOrder(results) as (VectorToolResult<C, K> | null)[];
  }

  /**
   * Steps like `step`, and yields `count` results as they arrive, by default all that are pending. The next call yields
   * the others; until then their sessions accept no other action. Requires `ownSockets`.
   * @throws TypeError for a session whose result is pending, and without `ownSockets`.
   */
  async *asCompleted(
    actions: readonly (Sent<C["action"]> | null)[],
    { count, ...call }: CallOptions & { count?: number | undefined } = {},
  ): AsyncIterable<VectorResult<C>> {
    const { operations, ownSockets } = this.#parts;
    if (!ownSockets) throw new TypeError("asCompleted() needs a socket for each session: pass { ownSockets: true }.");
    for (const [slot, action] of this.#bySlot(actions)) {
      const stepping = this.#advance(operations.step, new Map([[slot, action]]), call);
      const result = stepping.then((results) => results.get(slot) as VectorResult<C>);
      this.#completions.add(slot.index, result);
    }
    yield* this.#completions.take(count);
  }

  /**
   * Replaces sessions by copies of others: `parents[i]` is the index of the session that session `i` becomes a copy of,
   * null or `i` to leave it. A session is ended before it is replaced. Returns null for each session that is what it
   * should be, and the failure of each other: its next reset opens another one.
   * @throws TypeError for a wrong number of parents or an index that does not exist, and with `ownSockets`.
   * @example await envs.fork([0, 0, 0, 0, 4, 4, 4, 4]);
   */
  async fork(
    parents: readonly (number | null)[],
    { rng = "same", signal }: ForkOptions = {},
  ): Promise<(FailedResult | null)[]> {
    const { engine, timeoutMs, ownSockets } = this.#parts;
    if (ownSockets) throw new TypeError("fork() copies sessions that share a socket: connect without ownSockets.");
    const wanted = new Map<Slot, Slot>();
    for (const [slot, index] of this.#bySlot(parents)) {
      const parent = engine.slots[index];
      if (parent === undefined) throw new TypeError(`There is no session ${index}: use 0 to ${this.size - 1}.`);
      if (parent !== slot) wanted.set(slot, parent);
    }
    for (const parent of wanted.values()) {
      if (!wanted.has(parent)) continue;
      throw new TypeError(`Session ${parent.index} cannot be copied and replaced in one call.`);
    }
    return takeTurn(engine.slots, signal, async () => {
      const failures = await engine.fork(wanted, rng, { timeoutMs, signal });
      return engine.slots.map((slot) => {
        const failure = failures.get(slot);
        return failure === undefined ? null : toFailedResult(failure);
      });
    });
  }

  /** Returns the state of every session. */
  async state(call: CallOptions = {}): Promise<((EpisodeState & Received<C["state"]>) | FailedResult)[]> {
    const { engine, operations } = this.#parts;
    const values = new Map(engine.slots.map((slot) => [slot, undefined]));
    const called = await takeTurn(engine.slots, call.signal, () => this.#call(operations.state, values, call));
    return this.#inOrder(called).map((one) => (one as NonNullable<typeof one>).result);
  }

  /** Ends all sessions, and the servers that were started for them. Can be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#parts.engine.close().then(() => this.#parts.closeServers());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Steps each session, or starts an episode where autoreset requires one. */
  #advance<V, R extends TryResult<C> | ToolStepResult<C>>(
    operation: Operation<V, R>,
    values: ReadonlyMap<Slot, V>,
    call: CallOptions,
  ): Promise<Map<Slot, (R | TryResult<C>) & VectorPosition<C>>> {
    const { operations, autoreset, resetWith = () => ({}) as ResetValues<C> } = this.#parts;
    return takeTurn([...values.keys()], call.signal, async () => {
      const played = new Map(values);
      const begin = new Map<Slot, ResetValues<C>>();
      for (const slot of autoreset === "disabled" ? [] : values.keys()) {
        if (needsReset(slot)) begin.set(slot, resetWith(slot.index));
        if (begin.has(slot)) played.delete(slot);
      }
      const [started, stepped] = await Promise.all([this.#begin(begin, call), this.#call(operation, played, call)]);
      const results = new Map<Slot, (R | TryResult<C>) & VectorPosition<C>>(started);
      const ended = new Map<Slot, ResetValues<C>>();
      for (const [slot, { result, reopened }] of stepped) {
        const { groupId } = slot;
        const position = { index: slot.index, began: false, reopened, groupId, next: null };
        const placed: (R | TryResult<C>) & VectorPosition<C> = { ...result, ...position };
        results.set(slot, inGroup(placed));
        if (autoreset !== "same-step" || !needsReset(slot)) continue;
        try {
          ended.set(slot, resetWith(slot.index));
        } catch {
          // Keep the results of the step: the next call tries the reset again, and throws before anything is sent.
        }
      }
      for (const [slot, { result: next, reopened }] of await this.#call(operations.reset, ended, call)) {
        results.set(slot, { ...(results.get(slot) as (R | TryResult<C>) & VectorPosition<C>), reopened, next });
      }
      return results;
    });
  }

  async #begin(values: ReadonlyMap<Slot, ResetValues<C>>, call: CallOptions): Promise<Map<Slot, VectorResult<C>>> {
    const results = new Map<Slot, VectorResult<C>>();
    for (const [slot, { result, reopened }] of await this.#call(this.#parts.operations.reset, values, call)) {
      results.set(slot, { ...result, index: slot.index, began: true, reopened, groupId: slot.groupId, next: null });
    }
    return results;
  }

  #call<V, R extends object>(
    operation: Operation<V, R>,
    values: ReadonlyMap<Slot, V>,
    { timeoutMs = this.#parts.timeoutMs, signal }: CallOptions,
  ): Promise<Map<Slot, Called<R>>> {
    return this.#parts.engine.call(operation, values, { timeoutMs, signal });
  }

  /** The values that are not null. @throws TypeError for a wrong number of values, or a session in `asCompleted`. */
  #bySlot<V>(values: readonly (V | null)[]): Map<Slot, V> {
    if (values.length !== this.size) {
      throw new TypeError(
        `Expected ${this.size} values, one for each session, got ${values.length}: use null to skip a session.`,
      );
    }
    const given = new Map<Slot, V>();
    for (const slot of this.#parts.engine.slots) {
      const value = values[slot.index] as V | null;
      if (value === null) continue;
      if (this.#completions.has(slot.index)) {
        const remedy = "pass null for it, and read its result with asCompleted()";
        throw new TypeError(`Session ${slot.index} has not answered yet: ${remedy}.`);
      }
      given.set(slot, value);
    }
    return given;
  }

  #inOrder<R>(results: ReadonlyMap<Slot, R>): (R | null)[] {
    return this.#parts.engine.slots.map((slot) => results.get(slot) ?? null);
  }
}

/** Marks the group of a result in its metadata, too, where the environment's own data stays. */
function inGroup<R extends { groupId: number | null }>(result: R): R {
  const { groupId } = result;
  // Every result has metadata; the type of a tool's result depends on the contract.
  const { metadata } = result as unknown as FailedResult;
  return groupId === null ? result : { ...result, metadata: { group_id: groupId, ...metadata } };
}

/** True when the session must reset before its next step. */
function needsReset({ state }: Slot): boolean {
  return state.kind !== "playing";
}
