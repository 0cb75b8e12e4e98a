import type { ResetOptions } from "../../protocol/codec.js";
import type { ClientContract, GenericContract, Received, Sent } from "../contract.js";
import type { ManyClient } from "../many/many-client.js";
import type { CallOptions } from "../options.js";
import type { EpisodeState, FailedResult, StepResult } from "../result.js";
import type { PoolLanes } from "./pool-lanes.js";

/** What `reset` takes, those of the contract beside `seed`, `episodeId`, `split` and `index`. */
export type PoolReset<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;
type Result<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult;

/**
 * When the episode of a session has come to its end or was lost. `disabled`: nothing happens until `reset`.
 * `next-step`: its next step starts a new episode instead, and the action is not used. `same-step`: the step that ended
 * it starts a new one at once, and its result has the first observation of that in `next`.
 */
export type Autoreset = "disabled" | "next-step" | "same-step";

/** What one session of a pool answered; `outcome`, `observation` and `reward` are always those of the call itself. */
export type PoolResult<C extends ClientContract = GenericContract> = Result<C> & {
  /** Which session, from 0 on. */
  readonly index: number;
  /** True for the first result of an episode: of a reset, or of a step that autoreset made one. */
  readonly began: boolean;
  /** True when the session before was lost, and this or `next` is the first result of another one. */
  readonly reopened: boolean;
  /** The first result of the next episode, with `same-step`. */
  readonly next: Result<C> | null;
};

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
  state(call?: CallOptions): Promise<((EpisodeState & Received<C["state"]>) | FailedResult)[]>;
  /** Ends all sessions, and the servers that were started for them. Doing it twice does no harm. */
  close(): Promise<void>;
}

export interface PoolClientParts<C extends ClientContract> {
  urls: readonly string[];
  many: ManyClient<C>;
  lanes: PoolLanes;
  autoreset: Autoreset;
  resetWith: ((index: number) => PoolReset<C>) | undefined;
  ownSockets: boolean;
  close(): Promise<void>;
}

export function createPoolClient<C extends ClientContract>(parts: PoolClientParts<C>): PoolClient<C> {
  const { many, lanes, autoreset, ownSockets, close } = parts;
  const { size } = many;
  const resetWith = parts.resetWith ?? (() => ({}) as PoolReset<C>);
  /** Sessions whose episode is over. */
  const over = new Set<number>();
  /** What `asCompleted` has asked for and not given yet. */
  const underWay = new Map<number, Promise<PoolResult<C>>>();

  const describe = (index: number, result: Result<C>, began: boolean): PoolResult<C> => {
    // An error of the environment leaves the episode as it is; after a reset there is none.
    const isOver = result.outcome === "env_error" ? began || over.has(index) : result.outcome !== "ok";
    if (isOver) over.add(index);
    else over.delete(index);
    return { ...result, index, began, reopened: lanes.takeReopened(index), next: null };
  };

  const resetAll = async (
    options: PoolReset<C> | readonly (PoolReset<C> | null)[] | undefined,
    call: CallOptions | undefined,
  ): Promise<(PoolResult<C> | null)[]> => {
    const results = await many.reset(options, call);
    return results.map((result, index) => result && describe(index, result, true));
  };

  const resetSome = (indexes: ReadonlySet<number>, call: CallOptions | undefined) =>
    resetAll(
      Array.from({ length: size }, (_, index) => (indexes.has(index) ? resetWith(index) : null)),
      call,
    );

  const step = async (
    actions: readonly (Sent<C["action"]> | null)[],
    call: CallOptions | undefined,
  ): Promise<(PoolResult<C> | null)[]> => {
    const isAsked = (_: unknown, index: number): boolean => actions[index] !== null;
    const begin =
      autoreset === "disabled" ? new Set<number>() : new Set([...over].filter((index) => isAsked(null, index)));
    const played = actions.map((action, index) => (begin.has(index) ? null : action));
    const [first, stepped] = await Promise.all([
      begin.size > 0 ? resetSome(begin, call) : undefined,
      many.step(played, call),
    ]);
    const results = stepped.map((result, index) =>
      result === null ? (first?.[index] ?? null) : describe(index, result, false),
    );
    if (autoreset !== "same-step") return results;
    const ended = new Set(results.flatMap((one, index) => (one && !one.began && over.has(index) ? [index] : [])));
    if (ended.size === 0) return results;
    const next = await resetSome(ended, call);
    return results.map((result, index) => {
      const following = next[index];
      if (!result || !following) return result;
      const { index: _i, began: _b, next: _n, reopened, ...own } = following;
      return { ...result, reopened, next: own as Result<C> };
    });
  };

  const refuseUnderWay = (values: readonly unknown[]): void => {
    const busy = values.findIndex((value, index) => value !== null && underWay.has(index));
    if (busy < 0) return;
    throw new TypeError(
      `Session ${busy} has not answered yet: give null for it, and take its result with asCompleted().`,
    );
  };

  async function* asCompleted(
    actions: readonly (Sent<C["action"]> | null)[],
    { count, ...call }: CallOptions & { count?: number | undefined } = {},
  ): AsyncGenerator<PoolResult<C>> {
    if (!ownSockets) throw new TypeError("asCompleted() needs a socket for each session: pass { ownSockets: true }.");
    checkLength(actions, size);
    refuseUnderWay(actions);
    actions.forEach((action, index) => {
      if (action === null) return;
      const alone = actions.map((own, other) => (other === index ? own : null));
      const result = step(alone, call).then((results) => results[index] as PoolResult<C>);
      result.catch(() => {});
      underWay.set(index, result);
    });
    for (let left = count ?? underWay.size; left > 0 && underWay.size > 0; left--) {
      const result = await Promise.race(underWay.values());
      underWay.delete(result.index);
      yield result;
    }
  }

  return {
    size,
    urls: parts.urls,
    places: () => Array.from({ length: size }, (_, index) => lanes.placeOf(index) ?? null),
    reset: async (options, call) => {
      refuseUnderWay(Array.isArray(options) ? options : Array.from({ length: size }, () => options ?? {}));
      return resetAll(options, call);
    },
    step: async (actions, call) => {
      checkLength(actions, size);
      refuseUnderWay(actions);
      return step(actions, call);
    },
    asCompleted,
    state: (call) => many.state(call),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function checkLength(values: readonly unknown[], size: number): void {
  if (values.length === size) return;
  throw new TypeError(`There are ${size} sessions, and ${values.length} values for them: give one each, or null.`);
}
