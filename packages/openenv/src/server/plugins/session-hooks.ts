import { SessionLostError } from "../../environment/session-lost-error.js";
import type { Answer, SessionCallOptions } from "../../session/calls/call.js";
import type { PeerRequest } from "../../session/calls/peer-request.js";
import type { SessionEvent } from "../../session/calls/session-event.js";
import { errorMessage } from "../../session/messages/message-codec.js";
import type { EventCall, SessionHooks } from "../../session/restore/session-hooks.js";
import type { Session } from "../../session/session.js";
import { isThenable } from "../../util/async/thenable.js";
import type { Eventual, MaybePromise } from "../../util/types.js";
import { HOOK_MS, type HookCaller, inTime, isRefusal, tooLate } from "./hook.js";
import type { EventNotes, PluginAnswer, PluginHooks, PluginRefusal, PluginRequest } from "./plugin.js";

const EXPECTED = "around() must return the result of next(), or a refusal without calling it";

/** The hooks of one plugin in a session. */
export interface Hooked {
  hooks: PluginHooks;
  caller: HookCaller;
}

/** Joins the hooks of several plugins in a session: requests pass them in this order, events in reverse. */
export function joinHooks(session: Session, all: readonly Hooked[]): SessionHooks | undefined {
  if (all.length === 0) return undefined;
  const guards = all.filter(({ hooks }) => hooks.around !== undefined);
  const recorders = all.filter(({ hooks }) => hooks.record !== undefined).reverse();
  const notify = (hook: "detached" | "ended", reason = ""): void => {
    for (const { hooks, caller } of all) void caller.call(hook, () => hooks[hook]?.(reason));
  };
  const committed = (since: number): void => {
    for (const { hooks, caller } of all) void caller.call("committed", () => hooks.committed?.(since));
  };
  return {
    ...(guards.length > 0 && {
      around: (request, options) => pass({ session, request, shown: show(request, options), guards, options }, 0),
    }),
    ...(recorders.length > 0 && { record: (event, call) => recordAll(recorders, event, notesOf(call)) }),
    brief: recorders.every(({ hooks }) => hooks.brief === true),
    views: recorders.some(({ hooks }) => hooks.views === true),
    ...(all.some(({ hooks }) => hooks.committed !== undefined) && { committed }),
    detached: () => notify("detached"),
    ended: (reason) => notify("ended", reason),
  };
}

interface Way {
  readonly session: Session;
  readonly request: PeerRequest;
  /** What plugins get of it. */
  readonly shown: PluginRequest;
  readonly guards: readonly Hooked[];
  options: SessionCallOptions;
}

/**
 * Passes a request through the plugins from this one on. Sync if they and the request are. Never throws or rejects. This is
 * all that a plugin costs that immediately returns what `next` has returned.
 */
function pass(way: Way, index: number): Eventual<Answer> {
  const guard = way.guards[index];
  if (guard === undefined) return way.session.perform(way.request, way.options, true);
  const passage = new Passage(way, index, guard);
  try {
    const value: unknown = guard.hooks.around?.(way.shown, () => passage.pass() as MaybePromise<PluginAnswer>);
    if (value === passage.answer && value !== undefined) return passage.answer as Eventual<Answer>;
    return isThenable(value) ? passage.wait(value) : passage.end(value);
  } catch (error) {
    return passage.fail(error);
  }
}

/** The way of one request through one plugin. */
class Passage {
  readonly #way: Way;
  readonly #index: number;
  readonly #guard: Hooked;
  /** Set once the request has passed: no other answer is sent. */
  answer: Eventual<Answer> | undefined;
  #isOver = false;
  /** Set while the plugin is awaited. */
  #expire: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(way: Way, index: number, guard: Hooked) {
    this.#way = way;
    this.#index = index;
    this.#guard = guard;
  }

  pass(): Eventual<Answer> {
    if (this.answer === undefined) {
      if (this.#isOver) throw new Error("next() was called after the request was refused");
      this.answer = pass(this.#way, this.#index + 1);
      this.#limit();
    }
    return this.answer;
  }

  wait(value: PromiseLike<unknown>): Promise<Answer> {
    // The caller uses one object for several requests.
    if (this.answer === undefined) this.#way.options = { ...this.#way.options };
    return new Promise((resolve) => {
      const end = (outcome: () => Eventual<Answer>): void => {
        if (!this.#isOver) resolve(outcome());
      };
      this.#expire = () => end(() => this.fail(tooLate()));
      this.#limit();
      value.then((result) => end(() => this.end(result))).then(undefined, (error) => end(() => this.fail(error)));
    });
  }

  /** Only the time of the plugin counts, not that of the request. */
  #limit(): void {
    const expire = this.#expire;
    if (expire === undefined) return;
    clearTimeout(this.#timer);
    const start = (): void => {
      clearTimeout(this.#timer);
      if (!this.#isOver) this.#timer = setTimeout(expire, HOOK_MS);
    };
    if (isThenable(this.answer)) void this.answer.then(start);
    else start();
  }

  /** @throws TypeError for a refusal whose code is unknown. */
  end(value: unknown): Eventual<Answer> {
    const answer = this.answer;
    if (answer === undefined) return isRefusal(value) ? this.#refuse(value) : this.fail(new TypeError(EXPECTED));
    this.#finish();
    const check = (given: Answer): Answer => {
      if (value !== given && value !== answer) this.#guard.caller.fail("around", new TypeError(EXPECTED));
      return given;
    };
    return isThenable(answer) ? answer.then(check) : check(answer);
  }

  fail(error: unknown): Eventual<Answer> {
    const refusal = this.#guard.caller.fail("around", error);
    this.#finish();
    return this.answer ?? this.#refuse(refusal);
  }

  #refuse({ code, message }: PluginRefusal): Answer {
    this.#finish();
    if (this.#way.shown.type !== "tool") return errorMessage(code, message);
    return { result: null, error: { error_type: "transport_error", message, code } };
  }

  #finish(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/** All plugins get the event, even if one fails. @throws SessionLostError, or rejects with it, for one that must record. */
function recordAll(
  recorders: readonly Hooked[],
  event: SessionEvent,
  notes: EventNotes,
  from = 0,
  lost?: SessionLostError,
): MaybePromise<void> {
  for (let index = from; index < recorders.length; index++) {
    const { hooks, caller } = recorders[index] as Hooked;
    const failed = (error: unknown): void => {
      caller.fail("record", error);
      if (hooks.mustRecord !== true) return;
      lost ??= new SessionLostError(`the plugin "${caller.name}" could not record an event`);
    };
    try {
      const recorded = hooks.record?.(event, notes);
      if (!isThenable(recorded)) continue;
      return inTime(recorded)
        .catch(failed)
        .then(() => recordAll(recorders, event, notes, index + 1, lost));
    } catch (error) {
      failed(error);
    }
  }
  if (lost !== undefined) throw lost;
}

function notesOf({ startedAt, view }: EventCall): EventNotes {
  return { ms: performance.now() - startedAt, view };
}

function show(request: PeerRequest, { traceparent }: SessionCallOptions): PluginRequest {
  if (request.type === "tool")
    return { type: "tool", data: { name: request.tool.name, arguments: request.given }, traceparent };
  return { type: request.type, data: ("data" in request && request.data) || {}, traceparent };
}
