import { ConnectionError, RemoteError } from "../../errors.js";
import { CLOSE_CODES, type JsonObject } from "../../protocol/messages.js";
import type { ForkBody, ForkRequest } from "../../protocol/published.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { allOrNone } from "../../util/async/all-or-none.js";
import { encodeBase64Url } from "../../util/text/base64.js";
import { sha256 } from "../../util/text/sha256.js";
import { lostBecause, toRemoteError } from "../failures.js";
import type { ResumeOptions } from "../options.js";
import { withLimits } from "./limits.js";

/** The server of a resumable session. */
export interface ResumableServer {
  connectTimeoutMs: number;
  /** Opens a socket with the extension `resume`; with an id, to return to that session. */
  open(sessionId?: string): Promise<Transport>;
  /** Copies a session. @throws RemoteError, ConnectionError */
  fork(session: SessionKey, request: ForkRequest): Promise<ForkBody>;
}

/** What opens a resumable session. */
type SessionKey = ForkBody["sessions"][number];

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;
/** The time that a client that closes waits for the end of its session. */
const END_LIMIT_MS = 5_000;
/** After these, the session is not resumed: another connection has it, or the request would close the next one, too. */
const FINAL_CODES: (number | undefined)[] = [CLOSE_CODES.resumedElsewhere, CLOSE_CODES.tooLarge];
/** Errors with which a server says that the session can be resumed later, or elsewhere. */
const LATER: unknown[] = ["SESSION_ELSEWHERE", "JOURNAL_UNAVAILABLE", "CAPACITY_REACHED"];
/** Failures after which the next connection may find the session. */
const LOSSES = ["SESSION_LOST", "CONNECTION_FAILED", "CLIENT_TIMEOUT"];

/**
 * Opens a session that outlives its sockets: after a loss it connects again, proves its token and repeats the request
 * that has no answer. The server executes a repeated request once.
 */
export async function openResumingTransport(
  server: ResumableServer,
  options: ResumeOptions = {},
  existing?: SessionKey,
): Promise<Transport> {
  const connection = await server.open(existing?.session_id);
  const transport = new ResumingTransport(server, options, { connection, existing });
  if (existing !== undefined) await transport.prove();
  return transport;
}

class ResumingTransport implements Transport {
  readonly resumes = true;
  readonly #server: ResumableServer;
  readonly #options: ResumeOptions;
  readonly #token: string;
  #connection: Transport;
  /** Undefined before the server has opened the session, and once it is gone. */
  #sessionId: string | undefined;
  /** The session whose first answer has not arrived. */
  #unconfirmed: string | undefined;
  #windowMs = 0;
  #seq = 0;
  #ack = 0;
  /** The server ignores the frame of an earlier connection that arrives after that of a later one. */
  #attempt = 0;
  #ended: ConnectionError | undefined;
  #wake: (() => void) | undefined;
  #requesting = false;
  /** The request was cancelled, also for the next connection. */
  #isCancelled = false;
  #canCancel = false;
  #closing: Promise<void> | undefined;
  /** The extensions that the server confirmed: part of the first answer. */
  #confirmed: Pick<ReceivedMessage, "openenv"> = {};

  constructor(
    server: ResumableServer,
    options: ResumeOptions,
    { connection, existing }: { connection: Transport; existing: SessionKey | undefined },
  ) {
    this.#server = server;
    this.#options = options;
    this.#connection = connection;
    this.#token = existing?.token ?? makeToken();
    this.#sessionId = existing?.session_id;
  }

  get open(): boolean {
    return this.#ended === undefined && (this.#sessionId !== undefined || this.#connection.open);
  }

  get closeCode(): number | undefined {
    return this.#connection.closeCode;
  }

  async request(message: JsonObject): Promise<ReceivedMessage> {
    if (this.#ended) throw this.#ended;
    this.#requesting = true;
    this.#isCancelled = false;
    try {
      return await this.#exchange(message);
    } finally {
      this.#requesting = false;
    }
  }

  cancel(): boolean {
    // Nothing is sent before there is a session.
    if (!this.#canCancel || this.#sessionId === undefined) return false;
    this.#isCancelled = true;
    this.#connection.cancel?.();
    return true;
  }

  async fork(request: ForkRequest): Promise<Transport[]> {
    if (this.#ended) throw this.#ended;
    const session_id = this.#sessionId ?? (await this.#begin());
    const { sessions } = await this.#server.fork({ session_id, token: this.#token }, request);
    const opening = sessions.map((copy) => openResumingTransport(this.#server, this.#options, copy));
    return allOrNone(opening, (copy) => copy.close());
  }

  /** A reset after a lost call waits until the server has freed the slot. */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  /** @throws ConnectionError SESSION_LOST when the server does not have the session any more. */
  async prove(): Promise<void> {
    const { data, ...answer } = await this.#introduce({ token: this.#token, attempt: ++this.#attempt });
    if (answer.type === "resumed" && data["recovered"] === true) {
      // A journal that does not wait for the disk may lose the last events.
      if (Number(data["last_seq"]) < this.#ack) throw this.#fail(lostBecause("the server has lost answered requests"));
      return this.#confirm({ data, ...answer });
    }
    if (LATER.includes(data["code"])) {
      void this.#connection.close();
      throw new ConnectionError("CONNECTION_FAILED", String(data["message"]));
    }
    this.#sessionId = undefined;
    throw this.#fail(lostBecause(`it cannot be resumed, because ${data["reason"] ?? data["message"]}`));
  }

  async #exchange(message: JsonObject): Promise<ReceivedMessage> {
    let numbered: JsonObject | undefined;
    let recovered = false;
    for (let losses = 0; ; losses++) {
      try {
        if (this.#sessionId === undefined) await this.#begin();
        numbered ??= { ...message, seq: ++this.#seq, ack: this.#ack };
        const answering = this.#connection.request(numbered);
        if (this.#isCancelled) this.#connection.cancel?.();
        const answer = await answering;
        // A request that the server could not read has used no number.
        if (answer.seq === undefined) this.#seq--;
        else this.#ack = this.#seq;
        const first = this.#confirmed;
        this.#confirmed = {};
        return { ...answer, ...first, ...(recovered && { recovered }) };
      } catch (error) {
        if (this.#ended) throw this.#ended;
        if (!isLoss(error)) {
          // A request that cannot be written was not sent, and its number is free.
          if (error instanceof RemoteError && numbered) this.#seq--;
          else if (error instanceof ConnectionError) this.#ended = error;
          throw error;
        }
        recovered = await this.#recover(error, losses);
      }
    }
  }

  /** @throws RemoteError when the server opens no session, ConnectionError when it cannot resume any. */
  async #begin(): Promise<string> {
    if (!this.#connection.open) {
      // Its first answer was lost: the server would keep it.
      if (this.#unconfirmed !== undefined) await this.#endSession(this.#unconfirmed);
      await this.#reopen();
    }
    this.#unconfirmed = this.#connection.sessionHeader;
    const answer = await this.#introduce({ token_hash: await sha256(this.#token) });
    this.#unconfirmed = undefined;
    if (answer.type === "error") {
      if (answer.data["code"] === "UNKNOWN_TYPE") throw this.#fail(notSupported());
      throw toRemoteError(answer.data);
    }
    this.#confirm(answer);
    return (this.#sessionId = String(answer.data["session_id"]));
  }

  /** Connects again until the session is back. False before there is one: there is nothing to recover. */
  async #recover(cause: ConnectionError, losses: number): Promise<boolean> {
    const id = this.#sessionId;
    if (id === undefined) {
      await this.#pause(losses);
      return false;
    }
    const { closeCode } = this.#connection;
    if (FINAL_CODES.includes(closeCode)) {
      this.#sessionId = undefined;
      this.#fail(cause);
      if (closeCode === CLOSE_CODES.tooLarge) await this.#endSession(id);
      throw cause;
    }
    const since = performance.now();
    for (let failures = 0; ; failures++) {
      // The first try after an answered request is made at once.
      if (failures + losses > 0) await this.#pause(failures + losses - 1);
      try {
        await this.#reopen(id);
        await this.prove();
        this.#options.onRecovered?.({ attempts: failures + 1, downMs: performance.now() - since });
        return true;
      } catch (error) {
        if (!isLoss(error))
          this.#ended ??= error instanceof ConnectionError ? error : lostBecause("onRecovered failed");
        if (this.#ended) throw error;
        if (performance.now() - since > this.#windowMs)
          throw this.#fail(lostBecause(`the server could not be reached for ${this.#windowMs / 1000} s`));
      }
    }
  }

  /** @throws ConnectionError when the client has closed the session meanwhile. */
  async #pause(failures: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const limit = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS);
      const timer = setTimeout(resolve, limit * (0.5 + Math.random() / 2));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (this.#ended) throw this.#ended;
  }

  async #reopen(id?: string): Promise<void> {
    this.#connection = await this.#server.open(id);
    if (this.#ended) await this.#connection.close();
  }

  #introduce(data: JsonObject): Promise<ReceivedMessage> {
    const connection = this.#connection;
    const timeoutMs = this.#server.connectTimeoutMs;
    return withLimits(connection.request({ type: "resume", data }), { timeoutMs }, () => void connection.close());
  }

  #confirm({ data, openenv }: ReceivedMessage): void {
    if (openenv) this.#confirmed = { openenv };
    this.#canCancel = openenv?.extensions.includes("cancel") === true;
    this.#windowMs = Number(data["window_s"] ?? Infinity) * 1000;
  }

  #fail(error: ConnectionError): ConnectionError {
    return (this.#ended = error);
  }

  async #end(): Promise<void> {
    this.#ended ??= lostBecause("the client closed it");
    this.#wake?.();
    const isIdle = !this.#requesting && this.#connection.open;
    await this.#connection.close();
    const isEnded = isIdle && this.#connection.closeCode === CLOSE_CODES.normal;
    const id = this.#sessionId ?? this.#unconfirmed;
    if (id !== undefined && !isEnded) await this.#endSession(id);
  }

  /** Ends a session whose request is not answered: its connection may be lost, and the server would keep it. */
  #endSession(id: string): Promise<void> {
    let last: Transport | undefined;
    const end = async (): Promise<void> => {
      last = await this.#server.open(id);
      const answer = await last.request({ type: "resume", data: { token: this.#token, attempt: ++this.#attempt } });
      if (answer.data["recovered"] === true) await last.close();
    };
    return withLimits(end(), { timeoutMs: END_LIMIT_MS }, () => void last?.close()).catch(() => {});
  }
}

function isLoss(error: unknown): error is ConnectionError {
  return error instanceof ConnectionError && LOSSES.includes(error.code);
}

function notSupported(): ConnectionError {
  const message = "The server cannot resume sessions: leave out the option `resume`, or use a server of openenv-ts.";
  return new ConnectionError("CONNECTION_FAILED", message);
}

/** 192 bits, as text. */
function makeToken(): string {
  return encodeBase64Url(globalThis.crypto.getRandomValues(new Uint8Array(24)));
}
