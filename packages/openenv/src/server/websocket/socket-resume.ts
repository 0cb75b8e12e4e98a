import { CLOSE_CODES, type ErrorData, type Extension, type ResumedMessage } from "../../protocol/messages.js";
import type { SessionOpener } from "../../session/attachable-session.js";
import type { DurableHolder, DurableSession } from "../../session/durable/durable-session.js";
import { ANSWERS_FULL, type ResumeRequest } from "../../session/durable/durable-sessions.js";
import { type ErrorMessage, invalidMessage } from "../../session/messages/message-codec.js";
import type { Sessions } from "../../session/registry/sessions.js";
import { FIRST_USE_MS } from "../../session/registry/unclaimed.js";
import type { Batch } from "../../session/resume/batch.js";
import type { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isObject } from "../../util/is-object.js";
import type { Eventual } from "../../util/types.js";
import { isCount, isResume } from "./resume-frames.js";

const TOKEN_HASH = /^[0-9a-f]{64}$/;
const MAX_TOKEN_LENGTH = 256;

export type Resumed = ResumedMessage | ErrorMessage;

/** A socket that resumes a session, or makes its session resumable. */
interface ResumingSocket extends DurableHolder {
  readonly session: Session;
  readonly batch: Batch | undefined;
  readonly extensions: readonly Extension[];
  readonly orchestrator: boolean;
  readonly ended: boolean;
  durable: DurableSession | undefined;
  /** It serves the session, or those of the batch, from now on. */
  use(target: DurableSession["target"]): void;
  /** Reads nothing more, and closes after the answer. */
  endAfterAnswer(code: number, reason: string): void;
}

/** What the first frame of a socket with the extension `resume` does. */
export class SocketResume {
  readonly #socket: ResumingSocket;
  readonly #sessions: Sessions;
  readonly #client: SessionOpener["client"];
  /** The session that the query names; null for a new one. */
  readonly #id: string | null;
  /** The client has sent the token, and waits for its session. */
  #isRestoring = false;

  constructor(
    socket: ResumingSocket,
    sessions: Sessions,
    { id, client }: { id: string | null; client: SessionOpener["client"] },
  ) {
    this.#socket = socket;
    this.#sessions = sessions;
    this.#client = client;
    this.#id = id;
  }

  /** A socket that resumes has no session until it has shown the token of one. */
  awaitToken(): void {
    const close = (): void => {
      const isIdle = this.#socket.durable === undefined && !this.#isRestoring;
      if (isIdle) this.#socket.drop(CLOSE_CODES.normal, "no resume frame came");
    };
    setTimeout(close, FIRST_USE_MS).unref();
  }

  resume(frame: unknown): Eventual<Resumed> {
    const request = readResume(frame, this.#id === null);
    if ("type" in request) return request;
    const { durable, batch, extensions, orchestrator, session } = this.#socket;
    const sessions = this.#sessions;
    const id = this.#id;
    if (durable !== undefined) return this.#resumed(durable.target.id, { recovered: id !== null });
    if (id === null) {
      if (!sessions.durable.makeRoom()) return { type: "error", data: ANSWERS_FULL };
      if (batch === undefined) session.events.keepIfNeeded();
      return this.#store(sessions.durable.add(batch ?? session, request.secret, this.#socket));
    }
    const { journal } = sessions;
    if (journal === undefined || sessions.findDurable(id) !== undefined) return this.#continue(id, request);
    const opener = { client: extensions.includes("batch") ? "batch" : this.#client, orchestrator } as const;
    this.#isRestoring = true;
    return journal.takeOver(id, request.secret, opener).then(
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
      this.#socket.durable = added;
      return this.#resumed(added.target.id, {});
    };
    const fail = (error: SessionRejectedError): Resumed => {
      this.#sessions.durable.delete(added.key, "it could not be stored");
      return { type: "error", data: error.data };
    };
    const stored = this.#sessions.journal?.add(added);
    return stored === undefined ? done() : stored.then(done, fail);
  }

  #continue(id: string, request: ResumeRequest): Resumed {
    const key = this.#sessions.findDurable(id)?.key ?? id;
    const resumed = this.#sessions.durable.resume(key, request, this.#socket);
    if (typeof resumed === "string") return this.#lost(id, resumed);
    if ("code" in resumed) return this.#later(resumed);
    this.#socket.durable = resumed;
    this.#socket.use(resumed.target);
    return this.#resumed(id, { recovered: true });
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
    const data = { session_id: id, recovered: false, last_seq: this.#socket.durable?.answers.last ?? 0 };
    const { durable, windowMs } = this.#sessions;
    const window_s = Number.isFinite(windowMs) ? windowMs / 1000 : null;
    const limits = { window_s, max_unacknowledged: durable.limits.answers };
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
