import { ConnectionError, RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { groupBy } from "../../util/group-by.js";
import {
  abortedBeforeSent,
  asFailure,
  attempt,
  type CallFailure,
  clientClosed,
  isFailure,
  isServerFailure,
  isSessionMissing,
  sessionLost,
} from "../failures.js";
import type { Method, Operation } from "../operations.js";
import type { CallOptions } from "../options.js";
import { type FailedResult, toFailedResult } from "../result.js";
import { traced } from "../tracing.js";
import { limitsLeft } from "../transport/exit-reason.js";
import type { BatchAnswer } from "./batch-messages.js";
import { createLimiter, type Limiter } from "./limiter.js";
import { Placement } from "./placement.js";
import type { ServerTarget } from "./server-target.js";
import { type ClosedState, type OpenState, openState, type Slot, targetOf } from "./slot.js";

/** The result of a call in one session. */
export interface Called<R> {
  result: R | FailedResult;
  /** True when this is the first reset of a session that replaces a lost one. */
  reopened: boolean;
}

type Answers = Map<Slot, BatchAnswer | CallFailure>;

/** Calls many sessions; one frame calls all sessions that share a socket. */
export class VectorEngine {
  readonly slots: readonly Slot[];
  readonly #limiter: Limiter;
  readonly #placement: Placement;

  /** At most `concurrency` sessions are called or opened at the same time. */
  constructor(targets: readonly ServerTarget[], size: number, given: { concurrency: number; ownSockets: boolean }) {
    this.slots = Array.from({ length: size }, (_, index): Slot => {
      return { index, state: { kind: "unopened" }, hasPlayed: false, groupId: null };
    });
    this.#limiter = createLimiter(given.concurrency);
    // A journal restores the session of a socket, not those of a batch.
    if (given.ownSockets) for (const target of targets) target.hasBatch = false;
    this.#placement = new Placement(targets, this.#limiter, given.ownSockets ? 1 : given.concurrency);
  }

  /** The servers of the sessions. */
  get targets(): readonly ServerTarget[] {
    return this.#placement.targets;
  }

  close(): Promise<void> {
    return this.#placement.close();
  }

  /** Calls these sessions, which must not be in another call. An invalid value fails alone, before anything is sent. */
  async call<V, R extends object>(
    operation: Operation<V, R>,
    values: ReadonlyMap<Slot, V>,
    limits: CallOptions,
  ): Promise<Map<Slot, Called<R>>> {
    const called = new Map<Slot, Called<R>>();
    const sent = new Map<Slot, JsonObject>();
    for (const [slot, value] of values) {
      const data = attempt(() => operation.encode(value));
      if (isFailure(data)) called.set(slot, { result: toFailedResult(data), reopened: false });
      else sent.set(slot, data);
    }
    const answers = await traced({ method: operation.method, data: {} }, (add) => {
      const data = new Map(Array.from(sent, ([slot, given]) => [slot, add(given)]));
      return this.#perform(operation.method, data, limits);
    });
    for (const [slot, answer] of answers) {
      called.set(slot, read(operation, slot, { answer, sent: sent.get(slot) as JsonObject }));
    }
    return called;
  }

  /** Makes the session of each slot a copy of that of another one. Returns why there is no copy in a slot. */
  async fork(
    parents: ReadonlyMap<Slot, Slot>,
    rng: "same" | "split",
    limits: CallOptions,
  ): Promise<Map<Slot, CallFailure>> {
    const refusal = this.#refusal(limits.signal);
    if (refusal) return new Map(Array.from(parents.keys(), (slot) => [slot, refusal]));
    const failures = new Map<Slot, CallFailure>();
    const fail = (slots: Iterable<Slot>, failure: CallFailure): void => {
      for (const slot of slots) failures.set(slot, failure);
    };
    // Sessions whose parent cannot be copied end as well: otherwise they would continue their old episodes.
    const refused: Slot[] = [];
    const families = Array.from(groupBy(parents.keys(), (slot) => parents.get(slot) as Slot)).filter(
      ([parent, copies]) => {
        const obstacle = parent.state.kind === "unopened" ? noSession() : findObstacle(parent);
        if (obstacle === undefined) return true;
        fail(copies, obstacle);
        refused.push(...copies);
        return false;
      },
    );
    const byGroup = groupBy(families, ([parent]) => (parent.state as OpenState).group);
    const forks = Array.from(byGroup, async ([group, own]) => {
      const replaced = own.flatMap(([, copies]) => copies);
      const added = replaced.filter((slot) => openState(slot)?.group !== group).length;
      await this.end(replaced, limits);
      const obstacle = group.obstacleTo(added);
      if (obstacle) return fail(replaced, obstacle);
      const items = own.map(([parent, { length: count }]) => {
        return { session: (parent.state as OpenState).session, count, rng };
      });
      const replies = await group.fork(items, limits).catch((error: unknown) => own.map(() => asFailure(error)));
      for (const [nth, [parent, copies]] of own.entries()) {
        const reply = replies[nth] as number[] | CallFailure;
        if (isFailure(reply)) fail(copies, reply);
        else for (const slot of copies) this.#placement.place(slot, parent, reply.shift() as number);
      }
    });
    await Promise.all([this.end(refused, limits), ...forks]);
    return failures;
  }

  /** Ends the sessions of these slots. */
  async end(slots: readonly Slot[], limits: CallOptions): Promise<void> {
    const open = slots.filter((slot) => openState(slot) !== undefined);
    const ending = Array.from(
      groupBy(open, (slot) => (slot.state as OpenState).group),
      ([group, own]) =>
        group.end(
          own.map((slot) => (slot.state as OpenState).session),
          limits,
        ),
    );
    await Promise.allSettled(ending);
    for (const slot of open) this.#placement.release(slot, noSession());
  }

  async #perform(method: Method, data: ReadonlyMap<Slot, JsonObject>, limits: CallOptions): Promise<Answers> {
    const refusal = this.#refusal(limits.signal);
    if (refusal) return new Map(Array.from(data.keys(), (slot) => [slot, refusal]));
    const startedAt = performance.now();
    const answers = await (method === "reset" ? this.#reset(data, limits) : this.#ask(method, data, limits));
    if (!this.#placement.isClosed) await explainLosses(answers, limitsLeft(limits, startedAt));
    // Once the client is closed, that is the cause of every loss.
    for (const [slot, answer] of this.#placement.isClosed ? answers : []) {
      if (answer instanceof ConnectionError) answers.set(slot, clientClosed("connectVector", answer));
    }
    return answers;
  }

  /** Why nothing can be sent any more; undefined when it can. */
  #refusal(signal: AbortSignal | undefined): ConnectionError | undefined {
    if (this.#placement.isClosed) return clientClosed("connectVector");
    return signal?.aborted ? abortedBeforeSent(signal) : undefined;
  }

  /** Opens missing sessions, and tries other servers for those that fail to open. */
  async #reset(data: ReadonlyMap<Slot, JsonObject>, limits: CallOptions): Promise<Answers> {
    const answers: Answers = new Map();
    const tried = new Map(Array.from(data.keys(), (slot) => [slot, new Set<ServerTarget>()]));
    for (let left = [...data.keys()]; left.length > 0; ) {
      const missing = left.filter((slot) => !openState(slot)?.group.up);
      await this.#placement.open(missing, tried, limits);
      const open = left.filter((slot) => openState(slot) !== undefined);
      await this.#placement.even(open, limits);
      const placed = new Map(open.map((slot) => [slot, data.get(slot) as JsonObject]));
      const replies = await this.#ask("reset", placed, limits);
      const asked = open.filter((slot) => isAskedToMove(replies.get(slot)));
      if (asked.length > 0) {
        await this.#placement.leave(asked, limits);
        const again = new Map(asked.map((slot) => [slot, data.get(slot) as JsonObject]));
        for (const [slot, reply] of await this.#ask("reset", again, limits)) replies.set(slot, reply);
      }
      left = left.filter((slot) => {
        const reply = replies.get(slot);
        const answer = reply ?? (slot.state as ClosedState).error;
        answers.set(slot, answer);
        if (!isFailure(answer) || !(reply ? isSessionMissing : isServerFailure)(answer)) return false;
        this.#placement.release(slot, answer);
        // A server that lost a session may be back: it is ruled out only when it cannot open a new one.
        return (tried.get(slot)?.size ?? 0) < this.#placement.targets.length;
      });
    }
    return answers;
  }

  async #ask(method: Method, data: ReadonlyMap<Slot, JsonObject>, limits: CallOptions): Promise<Answers> {
    const answers: Answers = new Map();
    for (const slot of data.keys()) {
      if (slot.state.kind === "unopened") this.#placement.release(slot, noSession());
      const obstacle = method === "reset" ? undefined : findObstacle(slot);
      if (obstacle) answers.set(slot, obstacle);
    }
    const called = [...data.keys()].filter((slot) => !answers.has(slot));
    const members = groupBy(called, (slot) => (slot.state as OpenState).group);
    const calls = Array.from(members, async ([group, slots]) => {
      const items = slots.map((slot) => {
        const { session } = slot.state as OpenState;
        return { session, data: data.get(slot) as JsonObject };
      });
      // Node warns about more than ten listeners on one signal.
      const own = { ...limits, signal: limits.signal && AbortSignal.any([limits.signal]) };
      const call = this.#limiter.run(slots.length, own.signal, () => group.call(method, items, own));
      const replies = await call.catch((error: unknown) => slots.map(() => asFailure(error)));
      for (const [nth, slot] of slots.entries()) {
        const reply = replies[nth] as BatchAnswer | CallFailure;
        answers.set(slot, reply);
        if (isFailure(reply)) this.#recordFailure(method, slot, reply);
      }
    });
    await Promise.all(calls);
    return answers;
  }

  #recordFailure(method: Method, slot: Slot, failure: CallFailure): void {
    const open = slot.state as OpenState;
    if (!open.group.up || failure.code === "SESSION_LOST") this.#placement.release(slot, failure);
    else if (method === "reset" && open.kind === "playing") slot.state = { ...open, kind: "over" };
  }
}

function read<V, R extends object>(
  { method, decode }: Operation<V, R>,
  slot: Slot,
  { answer, sent }: { answer: BatchAnswer | CallFailure; sent: JsonObject },
): Called<R> {
  if (isFailure(answer)) return { result: toFailedResult(answer), reopened: false };
  const open = slot.state as OpenState;
  const decoded = attempt(() => decode(answer.data, open.group.extensions, sent));
  let result = isFailure(decoded) ? toFailedResult(decoded) : decoded;
  if (method === "state") return { result, reopened: false };
  if (!isFailure(decoded)) {
    result = { ...decoded, ...(answer.recovered && { recovered: true }), ...open.group.linkTo(open.session) };
  }
  const reopened = method === "reset" && open.kind === "opened" && slot.hasPlayed && !open.isMoved;
  slot.hasPlayed = true;
  if (method === "reset") slot.groupId = null;
  slot.state = { ...open, kind: (result as { outcome?: string }).outcome === "ok" ? "playing" : "over" };
  return { result, reopened };
}

function isAskedToMove(answer: BatchAnswer | CallFailure | undefined): boolean {
  return answer instanceof RemoteError && answer.code === "RESET_ELSEWHERE";
}

/** Why a session cannot step or return its state; undefined when it can. */
function findObstacle({ state, hasPlayed }: Slot): CallFailure | undefined {
  if (state.kind === "closed") return state.error instanceof RemoteError ? state.error : sessionLost(state.error);
  // A server may allow a step before the first reset: the step would belong to no episode of this client.
  return state.kind === "opened" && hasPlayed ? noSession() : undefined;
}

/** Adds to the errors of lost sessions why their servers ended, if the reason is known in time. */
async function explainLosses(answers: Answers, limits: CallOptions): Promise<void> {
  const explaining: Promise<void>[] = [];
  for (const [slot, answer] of answers) {
    const explain = isFailure(answer) ? targetOf(slot)?.explainExit : undefined;
    if (explain) explaining.push(explain(answer, limits).then((error) => void answers.set(slot, asFailure(error))));
  }
  await Promise.all(explaining);
}

function noSession(): ConnectionError {
  return new ConnectionError("SESSION_LOST", "The session has no episode. Call reset to start one.");
}
