import { WebSocket } from "ws";
import type { EnvClient } from "../client/env-client.js";
import type { ServerAddress } from "../client/transport/address.js";
import { encodeReset } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import { demand, show } from "./report.js";

export { playEpisode } from "./checks/episode.js";

/** One request and the unchanged `data` of its answer. */
export interface RecordedCall {
  operation: "reset" | "step" | "state";
  request: JsonObject;
  data: JsonObject;
}

/** A recorded call with its answer as it arrived. */
export interface RawCall extends RecordedCall {
  text: string;
  /** The answer was an error frame; `data` is its body. */
  failed: boolean;
}

/** One session on a plain socket. */
export interface Recorder {
  /** Sends a request. An error frame is an answer; anything that is not an answer throws a CheckFailure. */
  ask(operation: RecordedCall["operation"], request?: JsonObject): Promise<RawCall>;
  close(): void;
}

/** The episode to play: the data of the reset, with names of the wire, and the actions. */
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

/** The largest message and the largest episode of a working server, bytes. */
const MAX_MESSAGE = 1024 * 1024;
const MAX_EPISODE = 8 * 1024 * 1024;
/** The remedy when the action is at fault, not the server. */
const MISFIT =
  "The action does not match the schema of the server: correct the given actions (--actions, the runtime plan, the " +
  "option `actions`), or give some if there were none.";
const EXCEPTION =
  "The environment threw an exception: fix it; its stack is in the log of the server. An illegal move is an " +
  "observation, not an exception.";

/**
 * Plays the episode on a plain socket, with a state request after each answer, and records all calls.
 * Throws a CheckFailure for an error frame, an unexpected type, a binary or too large frame, and a timeout.
 */
export async function collectEpisode(
  address: ServerAddress,
  plan: EpisodePlan,
  options: CollectOptions,
): Promise<RecordedCall[]> {
  const recorder = await openRecorder(address, options);
  try {
    return await playPlan(plan, async (operation, data) => {
      const call = await recorder.ask(operation, data);
      if (call.failed) {
        const { code, message } = call.data;
        const misfit = operation === "step" && code === "VALIDATION_ERROR";
        const remedy = misfit ? MISFIT : code === "EXECUTION_ERROR" ? EXCEPTION : undefined;
        const played = operation === "step" ? `, for the action ${show(data)}` : "";
        const problem = `${describe(operation)} was answered with the error ${String(code)}: ${String(message)}${played}`;
        demand(false, problem, remedy === undefined ? {} : { remedy });
      }
      return call.data;
    });
  } finally {
    recorder.close();
  }
}

/** Opens a session that records each answer before any client changes it. Throws a CheckFailure if it cannot be opened. */
export async function openRecorder(address: ServerAddress, options: CollectOptions): Promise<Recorder> {
  const line = await openRecordingSocket(address.socket({}), options);
  return {
    close: line.close,
    ask: async (operation, data) => {
      const where = describe(operation);
      const text = await line.ask(JSON.stringify({ type: operation, ...(data && { data }) }), where);
      const answer = parseFrame(text, where);
      const { type, data: body } = answer;
      const call = { operation, request: data ?? {}, text };
      if (type === "error") return { ...call, data: isObject(body) ? body : {}, failed: true };
      const expected = operation === "state" ? "state" : "observation";
      demand(type === expected, `${where} was answered with the type ${show(type)}`, { expected, actual: type });
      demand(isObject(body), `${where} was answered with data that is not an object: ${show(body)}`);
      return { ...call, data: body, failed: false };
    },
  };
}

/** The same through a client, which has already validated the frames. */
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
    // Reported below.
  }
  demand(isObject(answer), `${where} was answered with text that is not a JSON object: ${text.slice(0, 80)}`);
  return answer;
}

interface RecordingSocket {
  ask(frame: string, where: string): Promise<string>;
  close(): void;
}

/** Opens a socket without compression and extensions, as any client of the protocol does. */
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
    if (isBinary) take(new Error("received a binary frame"));
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
    await next("could not open the WebSocket /ws");
  } catch (error) {
    socket.terminate();
    throw error;
  }
  return {
    ask: (frame, where) => {
      if (where === describe("reset")) bytes = 0;
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
  return `no answer within ${timeoutMs} ms`;
}

const CLOSE_MS = 1_000;
