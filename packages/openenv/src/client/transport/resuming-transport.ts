import { ConnectionError } from "../../errors.js";
import { CLOSE_CODES, type JsonObject } from "../../protocol/messages.js";
import { hashToken } from "../../protocol/resume.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { toRemoteError } from "../failures.js";
import type { ResumeOptions } from "../options.js";

/** Opens a socket with the extension `resume`; with an id, to return to that session. */
export type OpenSocketOf = (sessionId?: string) => Promise<Transport>;

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;
/** Failures after which the next connection may find the session. */
const LOSSES = ["SESSION_LOST", "CONNECTION_FAILED", "CLIENT_TIMEOUT"];

/**
 * One session over as many sockets as it takes: after a loss it connects again, proves its token and repeats the request
 * that has no answer. The server executes a repeated request once.
 */
export async function openResumingTransport(open: OpenSocketOf, options: ResumeOptions = {}): Promise<Transport> {
  const token = makeToken();
  let connection = await open();
  let sessionId: string | undefined;
  let windowMs = 0;
  let seq = 0;
  let ack = 0;
  let ended: ConnectionError | undefined;
  let wake: (() => void) | undefined;
  let requesting = false;
  /** The extensions that the server confirmed: part of the first answer. */
  let confirmed: Pick<ReceivedMessage, "openenv"> = {};

  /** @throws RemoteError when the server opens no session, ConnectionError when it cannot resume any. */
  const begin = async (): Promise<void> => {
    const answer = await connection.request({ type: "resume", data: { token_hash: await hashToken(token) } });
    if (answer.type === "error") {
      if (answer.data["code"] === "UNKNOWN_TYPE") throw notSupported();
      throw toRemoteError(answer.data);
    }
    sessionId = String(answer.data["session_id"]);
    if (answer.openenv) confirmed = { openenv: answer.openenv };
    windowMs = Number(answer.data["window_s"]) * 1000;
  };

  /** @throws ConnectionError SESSION_LOST when the server does not have the session any more. */
  const returnTo = async (id: string): Promise<void> => {
    connection = await open(id);
    if (ended) await connection.close();
    const answer = await connection.request({ type: "resume", data: { token } });
    if (answer.type === "resumed" && answer.data["recovered"] === true) return;
    const reason = answer.data["reason"] ?? answer.data["message"];
    throw (ended = lost(`it cannot be resumed, because ${reason}`));
  };

  const pause = (attempt: number): Promise<void> =>
    new Promise((resolve) => {
      const limit = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
      const timer = setTimeout(resolve, limit * (0.5 + Math.random() / 2));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  /** Connects again until the session is back. */
  const recover = async (id: string, cause: ConnectionError): Promise<void> => {
    if (connection.closeCode === CLOSE_CODES.resumedElsewhere) throw (ended = cause);
    const since = Date.now();
    for (let attempt = 0; ; attempt++) {
      if (attempt > 0) await pause(attempt - 1);
      if (ended) throw ended;
      try {
        await returnTo(id);
        options.onRecovered?.({ attempts: attempt + 1, downMs: Date.now() - since });
        return;
      } catch (error) {
        if (ended || !isLoss(error)) throw error;
        if (Date.now() - since > windowMs)
          throw (ended = lost(`the server could not be reached for ${windowMs / 1000} s`));
      }
    }
  };

  const exchange = async (message: JsonObject): Promise<ReceivedMessage> => {
    if (sessionId === undefined) await begin();
    const numbered = { ...message, seq: ++seq, ack };
    for (let recovered = false; ; recovered = true) {
      try {
        const answer = await connection.request(numbered);
        ack = numbered.seq;
        const first = confirmed;
        confirmed = {};
        return { ...answer, ...first, ...(recovered ? { recovered } : {}) };
      } catch (error) {
        if (ended) throw ended;
        if (!isLoss(error)) throw error;
        await recover(sessionId as string, error);
      }
    }
  };

  /** Ends a session whose request is not answered: its connection may be lost, and the server would keep it. */
  const endSession = async (id: string): Promise<void> => {
    const last = await open(id);
    const answer = await last.request({ type: "resume", data: { token } });
    if (answer.data["recovered"] === true) await last.close();
  };

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
    async close() {
      if (ended) return;
      ended = lost("the client closed it");
      wake?.();
      const isIdle = !requesting && connection.open;
      await connection.close();
      const isEnded = isIdle && connection.closeCode === CLOSE_CODES.normal;
      if (sessionId !== undefined && !isEnded) await endSession(sessionId).catch(() => {});
    },
  };
}

function isLoss(error: unknown): error is ConnectionError {
  return error instanceof ConnectionError && LOSSES.includes(error.code);
}

function lost(reason: string): ConnectionError {
  return new ConnectionError("SESSION_LOST", `The session was lost: ${reason}. Call reset to start a new episode.`);
}

function notSupported(): ConnectionError {
  const message = "The server cannot resume sessions: leave out the option `resume`, or use a server of openenv-ts.";
  return new ConnectionError("CONNECTION_FAILED", message);
}

/** 192 bits, as text. */
function makeToken(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
