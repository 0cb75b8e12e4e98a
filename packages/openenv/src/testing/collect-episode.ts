import { WebSocket } from "ws";
import type { EnvClient } from "../client/env-client.js";
import type { ServerAddress } from "../client/transport/address.js";
import { encodeReset } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import { demand, show } from "./report.js";

/** One request and the `data` of its answer, as it came: nothing is filled in or taken out. */
export interface RecordedCall {
  operation: "reset" | "step" | "state";
  request: JsonObject;
  data: JsonObject;
}

/** What is played: the data of the reset, in the names of the wire, and the actions until the episode is done. */
export interface EpisodePlan {
  reset: JsonObject;
  actions: readonly JsonObject[];
}

export interface CollectOptions {
  headers: Record<string, string>;
  /** Milliseconds for the connection and for each answer. */
  timeoutMs: number;
  /** Milliseconds for the whole episode. */
  episodeTimeoutMs?: number | undefined;
}

/** A message and a whole episode that are larger say that something is wrong with a server. Bytes. */
const MAX_MESSAGE = 1024 * 1024;
const MAX_EPISODE = 8 * 1024 * 1024;
/** The fault of who gave the action, not of the server. */
const MISFIT =
  "The action does not fit the schema that the server publishes: correct the actions that were given (--actions, the " +
  "runtime plan, the option `actions`); where none were, give some.";
const EXCEPTION =
  "The environment threw an exception, whose stack is in the log of the server: fix it. An illegal move is an " +
  "observation and no exception.";

/**
 * Plays the episode on a bare socket, asking for the state after each answer, and keeps what was said.
 * Throws a CheckFailure for an error frame, another type than the expected, a binary or too large frame and silence.
 */
export async function collectEpisode(
  address: ServerAddress,
  plan: EpisodePlan,
  options: CollectOptions,
): Promise<RecordedCall[]> {
  const line = await openRecordingSocket(address.socket({}), options);
  try {
    return await playPlan(plan, async (operation, data) => {
      const where = describe(operation);
      const text = await line.ask(JSON.stringify({ type: operation, ...(data && { data }) }), where);
      const answer = parseFrame(text, where);
      const body = answer["data"];
      if (answer["type"] === "error") {
        const { code, message } = isObject(body) ? body : {};
        const misfit = operation === "step" && code === "VALIDATION_ERROR";
        const remedy = misfit ? MISFIT : code === "EXECUTION_ERROR" ? EXCEPTION : undefined;
        const played = operation === "step" ? `, for the action ${show(data)}` : "";
        const problem = `${where} was answered with the error ${String(code)}: ${String(message)}${played}`;
        demand(false, problem, remedy === undefined ? {} : { remedy });
      }
      const expected = operation === "state" ? "state" : "observation";
      demand(answer["type"] === expected, `${where} was answered with the type ${show(answer["type"])}`, {
        expected,
        actual: answer["type"],
      });
      demand(isObject(body), `${where} was answered with data that are no object: ${show(body)}`);
      return body;
    });
  } finally {
    line.close();
  }
}

/** The same over a client, which has looked at the frames already. */
export function collectWith(env: EnvClient, { reset, actions }: EpisodePlan): Promise<RecordedCall[]> {
  return playPlan({ reset: encodeReset({ ...reset }), actions }, async (operation, data) => {
    if (operation === "state") return env.state();
    const { observation, reward, done, metadata } = await (operation === "reset"
      ? env.reset(reset)
      : env.step(data ?? {}));
    return { observation: { ...observation, metadata }, reward, done, metadata };
  });
}

type Ask = (operation: RecordedCall["operation"], data?: JsonObject) => Promise<JsonObject>;

async function playPlan({ reset, actions }: EpisodePlan, ask: Ask): Promise<RecordedCall[]> {
  const exchanges: RecordedCall[] = [];
  const exchange: Ask = async (operation, request = {}) => {
    const data = await ask(operation, operation === "state" ? undefined : request);
    exchanges.push({ operation, request, data });
    return data;
  };
  let last = await exchange("reset", reset);
  await exchange("state");
  for (const action of actions) {
    if (last["done"] === true) break;
    last = await exchange("step", action);
    await exchange("state");
  }
  return exchanges;
}

function describe(operation: string): string {
  return `${operation} on /ws`;
}

function parseFrame(text: string, where: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // Said below.
  }
  demand(isObject(answer), `${where} was answered with what is no JSON object: ${text.slice(0, 80)}`);
  return answer;
}

interface RecordingSocket {
  ask(frame: string, where: string): Promise<string>;
  close(): void;
}

/** A socket without compression and extensions: what any client of the protocol would see. */
async function openRecordingSocket(
  url: string,
  { headers, timeoutMs, episodeTimeoutMs = Infinity }: CollectOptions,
): Promise<RecordingSocket> {
  const deadline = Date.now() + episodeTimeoutMs;
  const socket = new WebSocket(url, {
    headers,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE,
    handshakeTimeout: timeoutMs,
    followRedirects: false,
  });
  let bytes = 0;
  const arrived: (string | Error)[] = [];
  let waiting: ((frame: string | Error) => void) | undefined;
  const take = (frame: string | Error): void => {
    if (waiting === undefined) arrived.push(frame);
    else waiting(frame);
    waiting = undefined;
  };
  socket.on("message", (data: Buffer, isBinary) => {
    bytes += data.length;
    if (isBinary) take(new Error("a binary frame came"));
    else if (bytes > MAX_EPISODE) take(new Error(`the answers of one episode are larger than ${MAX_EPISODE} bytes`));
    else take(data.toString("utf8"));
  });
  socket.on("error", (error) => take(error));
  socket.on("close", (code) => take(new Error(`the socket was closed with ${code}`)));
  const next = (where: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const left = Math.max(0, deadline - Date.now());
      const late = left < timeoutMs ? `the episode took longer than ${episodeTimeoutMs} ms` : silent(timeoutMs);
      const timer = setTimeout(() => settle(new Error(late)), Math.min(timeoutMs, left));
      const settle = (frame: string | Error): void => {
        clearTimeout(timer);
        waiting = undefined;
        if (typeof frame === "string") return resolve(frame);
        try {
          demand(false, `${where}: ${frame.message}`);
        } catch (failure) {
          reject(failure as Error);
        }
      };
      const ready = arrived.shift();
      if (ready === undefined) waiting = settle;
      else settle(ready);
    });
  socket.on("open", () => take(""));
  try {
    await next("the WebSocket /ws does not open");
  } catch (error) {
    socket.terminate();
    throw error;
  }
  return {
    ask: (frame, where) => {
      socket.send(frame);
      return next(where);
    },
    close: () => {
      if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"close"}');
      socket.close();
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    },
  };
}

function silent(timeoutMs: number): string {
  return `no answer came within ${timeoutMs} ms`;
}

const CLOSE_MS = 1_000;
