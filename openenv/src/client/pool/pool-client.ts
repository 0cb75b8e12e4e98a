import type { ResetOptions } from "../../protocol/codec.js";
import type { ClientContract, GenericContract, Received, Sent } from "../contract.js";
import { byIndex, inOrder, resetsByIndex } from "../many/by-index.js";
import type { Calls, Result, State } from "../many/calls.js";
import type { CallOptions } from "../options.js";
import type { StepResult } from "../result.js";
import type { ToolCallInput, ToolName, ToolStepResult } from "../tool-methods.js";
import type { PoolLanes } from "./pool-lanes.js";

/** What `reset` takes, those of the contract beside `seed`, `episodeId`, `split` and `index`. */
export type PoolReset<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;

/**
 * When the episode of a session has come to its end or was lost. `disabled`: nothing happens until `reset`.
 * `next-step`: its next step starts a new episode instead, and the action is not used. `same-step`: the step that ended
 * it starts a new one at once, and its result has the first observation of that in `next`.
 */
export type Autoreset = "disabled" | "next-step" | "same-step";

/** What a pool adds to the result of a session. */
export interface InPool<C extends ClientContract = GenericContract> {
  /** Which session, from 0 on. */
  readonly index: number;
  /** True for the first result of an episode: of a reset, or of a step that autoreset made one. */
  readonly began: boolean;
  /** True when the session before was lost, and this or `next` is the first result of another one. */
  readonly reopened: boolean;
  /** The first result of the next episode, with `same-step`. */
  readonly next: Result<C> | null;
}

/** What one session of a pool answered; `outcome`, `observation` and `reward` are always those of the call itself. */
export type PoolResult<C extends ClientContract = GenericContract> = Result<C> & InPool<C>;

/**
 * What a call of a tool gave in one session of a pool. Where autoreset began an episode instead, it is the result of the
 * reset, without `error`.
 */
export type PoolToolResult<C extends ClientContract = GenericContract, K extends ToolName<C> = ToolName<C>> = (
  | ToolStepResult<C, K>
  | (StepResult<Received<C["observation"]>> & { readonly error?: undefined })
) &
  InPool<C>;

/**
 * Sessions over one or many servers, called together as with `connectMany`: results come in the order of the sessions,
 * null for one that was left out, and no call rejects because of a session. A session that is lost says so once, and is
 * opened anew, at any server that has room, with the reset that follows.
 */
export interface PoolClient<C extends ClientContract = GenericContract> extends AsyncDisposable {
  /** How many sessions. */
  readonly size: number;
  /** Where the servers are. */
  readonly urls: readonly string[];
  /** For each session the URL of the server that has it; null for one that is not open. */
  places(): (string | null)[];
  /** Starts an episode in every session, with the same options or each with its own; null leaves one alone. */
  reset(
    options?: PoolReset<C> | readonly (PoolReset<C> | null)[],
    call?: CallOptions,
  ): Promise<(PoolResult<C> | null)[]>;
  /** One action for each session; null leaves one alone. */
  step(actions: readonly (Sent<C["action"]> | null)[], call?: CallOptions): Promise<(PoolResult<C> | null)[]>;
  /** A call of a tool for each session, which is a step; null leaves one alone. Sessions can call different tools. */
  callTools<K extends ToolName<C>>(
    calls: readonly (ToolCallInput<C, K> | null)[],
    call?: CallOptions,
  ): Promise<(PoolToolResult<C, K> | null)[]>;
  /**
   * Steps as `step` does, and gives each result as soon as it is there, `count` of them (default all that are under way).
   * What has not come by then comes with the next call; until then its session takes no other action. Needs
   * `ownSockets`.
   * @throws TypeError for a session that has not answered yet, and without `ownSockets`.
   */
  asCompleted(
    actions: readonly (Sent<C["action"]> | null)[],
    options?: CallOptions & { count?: number | undefined },
  ): AsyncIterable<PoolResult<C>>;
  state(call?: CallOptions): Promise<State<C>[]>;
  /** Ends all sessions, and the servers that were started for them. Doing it twice does no harm. */
  close(): Promise<void>;
}

export interface PoolClientParts<C extends ClientContract> {
  urls: readonly string[];
  size: number;
  calls: Calls<C>;
  lanes: PoolLanes;
  autoreset: Autoreset;
  resetWith: ((index: number) => PoolReset<C>) | undefined;
  ownSockets: boolean;
  close(): Promise<void>;
}

export function createPoolClient<C extends ClientContract>(parts: PoolClientParts<C>): PoolClient<C> {
  const { size, calls, lanes, autoreset, ownSockets, close } = parts;
  const resetWith = parts.resetWith ?? (() => ({}) as PoolReset<C>);
  /** Sessions whose episode is over. */
  const over = new Set<number>();
  /** Those that `asCompleted` has asked and not given the result of. */
  const underWay = new Set<number>();
  /** What has come of them, and who waits for that. */
  const answered: Answer<C>[] = [];
  const waiting: (() => void)[] = [];

  const describe = <R extends Result<C> | ToolStepResult<C>>(
    index: number,
    result: R,
    began: boolean,
  ): R & InPool<C> => {
    // An error of the environment leaves the episode as it is; after a reset there is none.
    const isOver = result.outcome === "env_error" ? began || over.has(index) : result.outcome !== "ok";
    if (isOver) over.add(index);
    else over.delete(index);
    return { ...result, index, began, reopened: lanes.takeReopened(index), next: null };
  };

  const reset = async (values: ReadonlyMap<number, PoolReset<C>>, call: CallOptions | undefined): Results<C> => {
    const results = await calls.reset(values, call);
    return new Map(Array.from(results, ([index, result]) => [index, describe(index, result, true)]));
  };

  /** Lets each session step with its value, or begins the next episode of one whose episode is over. */
  const advance = async <V, R extends Result<C> | ToolStepResult<C>>(
    values: ReadonlyMap<number, V>,
    play: (values: ReadonlyMap<number, V>, call: CallOptions | undefined) => Promise<Map<number, R>>,
    call: CallOptions | undefined,
  ): Promise<Map<number, (R | Result<C>) & InPool<C>>> => {
    const played = new Map(values);
    const begin = new Map<number, PoolReset<C>>();
    for (const index of autoreset === "disabled" ? [] : values.keys()) {
      if (!over.has(index)) continue;
      begin.set(index, resetWith(index));
      played.delete(index);
    }
    const [begun, stepped] = await Promise.all([reset(begin, call), play(played, call)]);
    const results = new Map<number, (R | Result<C>) & InPool<C>>(begun);
    const ended = new Map<number, PoolReset<C>>();
    for (const [index, result] of stepped) {
      results.set(index, describe(index, result, false));
      if (autoreset !== "same-step" || !over.has(index)) continue;
      try {
        ended.set(index, resetWith(index));
      } catch {
        // What was played is worth more: the next step asks again, and throws before anything is sent.
      }
    }
    for (const [index, following] of await reset(ended, call)) {
      const { index: _i, began: _b, next: _n, reopened, ...own } = following;
      const stepped = results.get(index) as (R | Result<C>) & InPool<C>;
      results.set(index, { ...stepped, reopened, next: own as Result<C> });
    }
    return results;
  };
  const step = (actions: ReadonlyMap<number, Sent<C["action"]>>, call: CallOptions | undefined): Results<C> =>
    advance(actions, calls.step, call);

  const refuseUnderWay = (values: ReadonlyMap<number, unknown>): void => {
    for (const index of values.keys()) {
      if (!underWay.has(index)) continue;
      throw new TypeError(
        `Session ${index} has not answered yet: give null for it, and take its result with asCompleted().`,
      );
    }
  };

  async function* asCompleted(
    given: readonly (Sent<C["action"]> | null)[],
    { count, ...call }: CallOptions & { count?: number | undefined } = {},
  ): AsyncGenerator<PoolResult<C>> {
    if (!ownSockets) throw new TypeError("asCompleted() needs a socket for each session: pass { ownSockets: true }.");
    const actions = byIndex(given, size);
    refuseUnderWay(actions);
    for (const [index, action] of actions) {
      const arrive = (take: () => PoolResult<C>): void => {
        answered.push({ index, take });
        for (const wake of waiting.splice(0)) wake();
      };
      underWay.add(index);
      step(new Map([[index, action]]), call).then(
        (results) => arrive(() => results.get(index) as PoolResult<C>),
        (error: unknown) =>
          arrive(() => {
            throw error;
          }),
      );
    }
    for (let left = count ?? underWay.size; left > 0; left--) {
      while (answered.length === 0 && underWay.size > 0) await new Promise<void>((wake) => waiting.push(wake));
      const answer = answered.shift();
      if (!answer) return;
      underWay.delete(answer.index);
      yield answer.take();
    }
  }

  return {
    size,
    urls: parts.urls,
    places: () => Array.from({ length: size }, (_, index) => lanes.placeOf(index) ?? null),
    reset: async (options = {} as PoolReset<C>, call) => {
      const values = resetsByIndex(options, size);
      refuseUnderWay(values);
      return inOrder(await reset(values, call), size);
    },
    step: async (given, call) => {
      const actions = byIndex(given, size);
      refuseUnderWay(actions);
      return inOrder(await step(actions, call), size);
    },
    callTools: async <K extends ToolName<C>>(given: readonly (ToolCallInput<C, K> | null)[], call?: CallOptions) => {
      const values = byIndex(given, size);
      refuseUnderWay(values);
      return inOrder(await advance(values, calls.callTools<K>, call), size) as (PoolToolResult<C, K> | null)[];
    },
    asCompleted,
    state: async (call) => inOrder(await calls.state(Array(size).keys(), call), size) as State<C>[],
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What one session has answered; `take` throws what went wrong instead. */
interface Answer<C extends ClientContract> {
  index: number;
  take(): PoolResult<C>;
}

type Results<C extends ClientContract> = Promise<Map<number, PoolResult<C>>>;
