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
/** How long a client that closes waits until its session has ended. */
const END_LIMIT_MS = 5_000;
/** After these the session is not resumed: another connection has it, or the request would close the next one, too. */
const FINAL_CODES: (number | undefined)[] = [CLOSE_CODES.resumedElsewhere, CLOSE_CODES.tooLarge];
/** Errors with which a server says that the session can be resumed later, or elsewhere. */
const LATER: unknown[] = ["SESSION_ELSEWHERE", "JOURNAL_UNAVAILABLE", "CAPACITY_REACHED"];
/** Failures after which the next connection may find the session. */
const LOSSES = ["SESSION_LOST", "CONNECTION_FAILED", "CLIENT_TIMEOUT"];

/**
 * One session over as many sockets as it takes: after a loss it connects again, proves its token and repeats the request
 * that has no answer. The server executes a repeated request once.
 */
export async function openResumingTransport(
  server: ResumableServer,
  options: ResumeOptions = {},
  existing?: SessionKey,
): Promise<Transport> {
  const { open, connectTimeoutMs } = server;
  const token = existing?.token ?? makeToken();
  let connection = await open(existing?.session_id);
  /** Undefined before the server has opened the session, and once it is gone. */
  let sessionId = existing?.session_id;
  /** The session whose first answer has not arrived. */
  let unconfirmed: string | undefined;
  let windowMs = 0;
  let seq = 0;
  let ack = 0;
  /** The server ignores the frame of an earlier connection that arrives after that of a later one. */
  let attempt = 0;
  let ended: ConnectionError | undefined;
  let wake: (() => void) | undefined;
  let requesting = false;
  let closing: Promise<void> | undefined;
  /** The extensions that the server confirmed: part of the first answer. */
  let confirmed: Pick<ReceivedMessage, "openenv"> = {};

  const request = (data: JsonObject): Promise<ReceivedMessage> => {
    const { close } = connection;
    return withLimits(
      connection.request({ type: "resume", data }),
      { timeoutMs: connectTimeoutMs },
      () => void close(),
    );
  };

  /** @throws RemoteError when the server opens no session, ConnectionError when it cannot resume any. */
  const begin = async (): Promise<void> => {
    if (!connection.open) {
      // Its first answer was lost: the server would keep it.
      if (unconfirmed !== undefined) await endSession(unconfirmed);
      await reopen();
    }
    unconfirmed = connection.sessionHeader;
    const answer = await request({ token_hash: await sha256(token) });
    unconfirmed = undefined;
    if (answer.type === "error") {
      if (answer.data["code"] === "UNKNOWN_TYPE") throw (ended = notSupported());
      throw toRemoteError(answer.data);
    }
    sessionId = String(answer.data["session_id"]);
    confirm(answer);
  };

  const confirm = ({ data, openenv }: ReceivedMessage): void => {
    if (openenv) confirmed = { openenv };
    windowMs = Number(data["window_s"] ?? Infinity) * 1000;
  };

  const reopen = async (id?: string): Promise<void> => {
    connection = await open(id);
    if (ended) await connection.close();
  };

  /** @throws ConnectionError SESSION_LOST when the server does not have the session any more. */
  const prove = async (): Promise<void> => {
    const answer = await request({ token, attempt: ++attempt });
    if (answer.type === "resumed" && answer.data["recovered"] === true) {
      // A journal that does not wait for the disk may lose the last events.
      if (Number(answer.data["last_seq"]) < ack) throw (ended = lostBecause("the server has lost answered requests"));
      return confirm(answer);
    }
    if (LATER.includes(answer.data["code"])) {
      void connection.close();
      throw new ConnectionError("CONNECTION_FAILED", String(answer.data["message"]));
    }
    const reason = answer.data["reason"] ?? answer.data["message"];
    sessionId = undefined;
    throw (ended = lostBecause(`it cannot be resumed, because ${reason}`));
  };

  const pause = (failures: number): Promise<void> =>
    new Promise((resolve) => {
      const limit = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS);
      const timer = setTimeout(resolve, limit * (0.5 + Math.random() / 2));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  /** Connects again until the session is back. */
  const recover = async (id: string, cause: ConnectionError, losses: number): Promise<void> => {
    if (FINAL_CODES.includes(connection.closeCode)) {
      ended = cause;
      sessionId = undefined;
      if (connection.closeCode === CLOSE_CODES.tooLarge) await endSession(id);
      throw ended;
    }
    const since = performance.now();
    for (let failures = 0; ; failures++) {
      // The first try after an answered request is made at once.
      if (failures + losses > 0) await pause(failures + losses - 1);
      if (ended) throw ended;
      try {
        await reopen(id);
        await prove();
        options.onRecovered?.({ attempts: failures + 1, downMs: performance.now() - since });
        return;
      } catch (error) {
        if (!isLoss(error)) ended ??= error instanceof ConnectionError ? error : lostBecause("onRecovered failed");
        if (ended) throw error;
        if (performance.now() - since > windowMs)
          throw (ended = lostBecause(`the server could not be reached for ${windowMs / 1000} s`));
      }
    }
  };

  const exchange = async (message: JsonObject): Promise<ReceivedMessage> => {
    let numbered: JsonObject | undefined;
    let recovered = false;
    for (let losses = 0; ; losses++) {
      try {
        if (sessionId === undefined) await begin();
        numbered ??= { ...message, seq: ++seq, ack };
        const answer = await connection.request(numbered);
        // A request that the server could not read has used no number.
        if (answer.seq === undefined) seq--;
        else ack = seq;
        const first = confirmed;
        confirmed = {};
        return { ...answer, ...first, ...(recovered && { recovered }) };
      } catch (error) {
        if (ended) throw ended;
        if (!isLoss(error)) {
          // A request that cannot be written was not sent, and its number is free.
          if (error instanceof RemoteError && numbered) seq--;
          else if (error instanceof ConnectionError) ended = error;
          throw error;
        }
        if (sessionId !== undefined) {
          await recover(sessionId, error, losses);
          recovered = true;
        } else {
          await pause(losses);
          if (ended) throw ended;
        }
      }
    }
  };

  /** Ends a session whose request is not answered: its connection may be lost, and the server would keep it. */
  const endSession = (id: string): Promise<void> => {
    let last: Transport | undefined;
    const end = async (): Promise<void> => {
      last = await open(id);
      const answer = await last.request({ type: "resume", data: { token, attempt: ++attempt } });
      if (answer.data["recovered"] === true) await last.close();
    };
    return withLimits(end(), { timeoutMs: END_LIMIT_MS }, () => void last?.close()).catch(() => {});
  };

  const end = async (): Promise<void> => {
    ended ??= lostBecause("the client closed it");
    wake?.();
    const isIdle = !requesting && connection.open;
    await connection.close();
    const isEnded = isIdle && connection.closeCode === CLOSE_CODES.normal;
    const id = sessionId ?? unconfirmed;
    if (id !== undefined && !isEnded) await endSession(id);
  };

  const fork = async (request: ForkRequest): Promise<Transport[]> => {
    if (sessionId === undefined) await begin();
    const { sessions } = await server.fork({ session_id: sessionId as string, token }, request);
    const opening = sessions.map((copy) => openResumingTransport(server, options, copy));
    return allOrNone(opening, (copy) => copy.close());
  };

  if (existing !== undefined) await prove();
  return {
    get open() {
      return ended === undefined && (sessionId !== undefined || connection.open);
    },
    get closeCode() {
      return connection.closeCode;
    },
    async request(message) {
      if (ended) throw ended;
      requesting = true;
      try {
        return await exchange(message);
      } finally {
        requesting = false;
      }
    },
    async fork(request) {
      if (ended) throw ended;
      return fork(request);
    },
    // A reset after a lost call waits until the server has freed the slot.
    close: () => (closing ??= end()),
    resumes: true,
  };
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
