import { CLOSE_CODES, type ErrorData, type ResumedMessage } from "#core/protocol/messages.js";
import type { SessionOpener } from "#core/session/attachable-session.js";
import type { Batch } from "#core/session/batch.js";
import { type ErrorMessage, invalidMessage } from "#core/session/messages/message-codec.js";
import type {
  Frame,
  FrameDoor,
  ReceivedFrame,
  ResumeFrames,
  ResumingSocket,
  Withheld,
} from "#core/session/registry/session-keeper.js";
import { FIRST_USE_MS } from "#core/session/registry/unclaimed.js";
import type { SessionRejectedError } from "#core/session/session-rejected-error.js";
import { after } from "#core/util/async/after.js";
import { isObject } from "#core/util/is-object.js";
import type { Eventual } from "#core/util/types.js";
import type { DurableSession } from "../session/durable-session.js";
import { ANSWERS_FULL, type DurableSessions, type ResumeRequest } from "../session/durable-sessions.js";
import { isCount, isResume, readNumbered, withoutNumbers } from "./resume-frames.js";

const TOKEN_HASH = /^[0-9a-f]{64}$/;
const MAX_TOKEN_LENGTH = 256;

type Resumed = ResumedMessage | ErrorMessage;

/** Answers the frames of a socket with the extension `resume`: the first one resumes a session, or makes one resumable. */
export class SocketResume implements ResumeFrames {
  readonly #socket: ResumingSocket;
  readonly #all: DurableSessions;
  readonly #opener: SessionOpener;
  /** The session that the query names; null for a new one. */
  readonly #id: string | null;
  #durable: DurableSession | undefined;
  /** The client has sent the token, and waits for its session. */
  #isRestoring = false;

  constructor(
    socket: ResumingSocket,
    durable: DurableSessions,
    { id, opener }: { id: string | null; opener: SessionOpener },
  ) {
    this.#socket = socket;
    this.#all = durable;
    this.#opener = opener;
    this.#id = id;
    if (id !== null) setTimeout(() => this.#closeIdle(), FIRST_USE_MS).unref();
  }

  /** Until it has shown the token of a session, the socket has none that could be idle. */
  #closeIdle(): void {
    const isIdle = this.#durable === undefined && !this.#isRestoring;
    if (isIdle) this.#socket.drop(CLOSE_CODES.normal, "no resume frame came");
  }

  answer(received: ReceivedFrame, door: FrameDoor): Frame | Promise<Frame | Withheld> | null {
    const durable = this.#durable;
    const { frame } = received;
    if (durable === undefined || isResume(frame)) return after(this.#resume(frame), (resumed) => door.render(resumed));
    // These need no number.
    if (!isObject(frame)) return door.answer(frame);
    if (frame["type"] === "close") return door.answer(withoutNumbers(frame));
    const request = readNumbered(frame, received);
    if ("type" in request) return door.render(request);
    const { seq } = request;
    return durable.answerOnce(request, (refusal) =>
      refusal === undefined ? (door.answer(request.frame, seq) as Eventual<Frame>) : door.render(refusal, seq),
    );
  }

  /** Makes the session resumable with the hash of a token, or resumes that of the query with the token. May be repeated. */
  #resume(frame: unknown): Eventual<Resumed> {
    const request = readResume(frame, this.#id === null);
    if ("type" in request) return request;
    const { batch, extensions, session } = this.#socket;
    const id = this.#id;
    if (this.#durable !== undefined) return this.#resumed(this.#durable.target.id, { recovered: id !== null });
    if (id === null) {
      if (!this.#all.makeRoom()) return { type: "error", data: ANSWERS_FULL };
      if (batch === undefined) session.events.keepIfNeeded();
      return this.#store(this.#all.add((batch as Batch | undefined) ?? session, request.secret, this.#socket));
    }
    const { store } = this.#all;
    if (store === undefined || this.#all.findById(id) !== undefined) return this.#continue(id, request);
    const opener = { ...this.#opener, ...(extensions.includes("batch") && { client: "batch" as const }) };
    this.#isRestoring = true;
    return store.takeOver(id, request.secret, opener).then(
      (reason) => {
        if (reason !== undefined) return this.#lost(id, reason);
        // The client has disconnected meanwhile: the session waits for its next connection.
        return this.#socket.ended ? this.#resumed(id, {}) : this.#continue(id, request);
      },
      ({ data }: SessionRejectedError) => this.#later(data),
    );
  }

  /** Writes the new resumable session to the journal, if there is one. */
  #store(added: DurableSession): Eventual<Resumed> {
    const done = (): Resumed => {
      // The client has disconnected meanwhile, and its session has ended.
      if (this.#socket.ended) added.journal?.end("disconnected");
      this.#attach(added);
      return this.#resumed(added.target.id, {});
    };
    const fail = (error: SessionRejectedError): Resumed => {
      this.#all.delete(added.key, "it could not be stored");
      return { type: "error", data: error.data };
    };
    const stored = this.#all.store?.add(added);
    return stored === undefined ? done() : stored.then(done, fail);
  }

  #continue(id: string, request: ResumeRequest): Resumed {
    const key = this.#all.findById(id)?.key ?? id;
    const resumed = this.#all.resume(key, request, this.#socket);
    if (typeof resumed === "string") return this.#lost(id, resumed);
    if ("code" in resumed) return this.#later(resumed);
    this.#attach(resumed);
    this.#socket.use(resumed.target);
    return this.#resumed(id, { recovered: true });
  }

  #attach(durable: DurableSession): void {
    this.#durable = this.#socket.durable = durable;
  }

  /** A peer has one try. */
  #lost(id: string, reason: string): Resumed {
    this.#socket.endAfterAnswer(CLOSE_CODES.sessionEnded, reason);
    return this.#resumed(id, { reason });
  }

  /** The client may try again on another connection. */
  #later(data: ErrorData): Resumed {
    this.#socket.endAfterAnswer(CLOSE_CODES.overloaded, "the session cannot be resumed now");
    return { type: "error", data };
  }

  #resumed(id: string, more: Partial<ResumedMessage["data"]>): ResumedMessage {
    const data = { session_id: id, recovered: false, last_seq: this.#durable?.answers.last ?? 0 };
    const { windowMs } = this.#all.sessions;
    const window_s = Number.isFinite(windowMs) ? windowMs / 1000 : null;
    const limits = { window_s, max_unacknowledged: this.#all.limits.answers };
    return { type: "resumed", data: { ...data, ...limits, ...more } };
  }
}

/** What the first frame contains, or the error that answers it. */
function readResume(frame: unknown, isNew: boolean): ResumeRequest | ErrorMessage {
  const data = isResume(frame) && isObject(frame["data"]) ? frame["data"] : {};
  const secret = data[isNew ? "token_hash" : "token"];
  const { attempt } = data;
  const isSecret = typeof secret === "string" && (isNew ? TOKEN_HASH.test(secret) : secret.length <= MAX_TOKEN_LENGTH);
  if (isSecret && (attempt === undefined || isCount(attempt))) return { secret, attempt };
  const shape = isNew
    ? '{"type":"resume","data":{"token_hash":"<SHA-256 of your token, 64 lower-case hexadecimal digits>"}}'
    : '{"type":"resume","data":{"token":"<the token of the session>","attempt":<optional: a higher integer each time>}}';
  const issue = { type: "value_error", loc: ["data"], msg: `the first frame must be ${shape}`, input: null };
  return invalidMessage([issue]);
}
