import type { JsonObject } from "openenv-ts/protocol";
import { LoadFailure } from "./failure.js";
import { connectSocket, openRawSession, type RawSession, readTarget } from "./raw-session.js";
import { RequestTemplate } from "./request-template.js";

/** Connections that are opened at the same time. */
const OPENING = 32;
/** Time limit in milliseconds for the first responses, and after the end of a run for the last ones. */
const PATIENCE_MS = 30_000;

/** The work of a load's sessions. */
export interface Workload {
  /** Data of the reset; default `{}`. */
  reset?: JsonObject;
  /** The actions of one connection, sent in turn; at least one. */
  actions(connection: number): JsonObject[];
  /** Returns the problem of the response to an action; undefined when it is correct. */
  check(data: JsonObject, action: JsonObject): string | undefined;
}

export interface LoadOptions {
  /** URL of the server, as for `connect`; without TLS. */
  url: string;
  /** Number of concurrent sessions; each waits for a response before the next request. */
  connections: number;
  workload: Workload;
  /** The IP address of the URL's host, so that it is not resolved for every connection. */
  address?: string;
  /** Client token, sent with the upgrade. */
  token?: string | undefined;
  /** The source address of the next connection; by default the system chooses. */
  source?: (() => string | undefined) | undefined;
  /** Called with the duration in milliseconds of each correct step. */
  onStep?: (milliseconds: number) => void;
}

/** Completed steps or sessions, and their wall time. */
export interface LoadResult {
  done: number;
  seconds: number;
}

export interface SessionLoad extends AsyncDisposable {
  /**
   * Steps all sessions for this many seconds and waits for the last responses. With `thinkMs` each session waits that
   * long on average before a step, and resets when its episode has ended; without it, it steps at once and never resets.
   * @throws Error of the first wrong or missing response.
   */
  step(seconds: number, thinkMs?: number): Promise<LoadResult>;
  close(): Promise<void>;
}

/**
 * Opens sessions and resets each.
 * @throws Error when a session is rejected or its reset fails; no session stays open then.
 */
export async function createLoad(options: LoadOptions): Promise<SessionLoad> {
  const sessions: RawSession[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sessions.splice(0).map((session) => session.close()));
  };
  let next = 0;
  const reset = resetOf(options.workload);
  const open = async (): Promise<void> => {
    while (next < options.connections) {
      next++;
      sessions.push(await openSession(options, reset));
    }
  };
  const opened = await Promise.allSettled(Array.from({ length: OPENING }, open));
  const refused = opened.find((result) => result.status === "rejected");
  if (refused !== undefined) {
    for (const session of sessions) session.destroy();
    throw refused.reason;
  }
  const connections = sessions.map((session, index) => ({
    session,
    exchanges: stepsOf(options.workload, index),
    turn: 0,
  }));

  const { onStep } = options;
  return {
    step: (seconds, thinkMs) => {
      const act: Act<(typeof connections)[number]> = (connection, done) => {
        const exchange = connection.exchanges[connection.turn++ % connection.exchanges.length] as RequestTemplate;
        const answered: typeof done =
          thinkMs === undefined
            ? done
            : (failure) =>
                failure === undefined && exchange.ended ? connection.session.ask(reset, done) : done(failure);
        connection.session.ask(exchange, onStep === undefined ? answered : timed(answered, onStep));
      };
      return runConnections(connections, seconds, act, thinkMs);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Plays whole sessions for this many seconds, `connections` at a time: connect, reset, one step, close.
 * @throws Error of the first failure.
 */
export function runSessions(options: LoadOptions, seconds: number): Promise<LoadResult> {
  const reset = resetOf(options.workload);
  const connections = Array.from({ length: options.connections }, (_, index) => stepsOf(options.workload, index));
  const play = async (exchanges: RequestTemplate[]): Promise<void> => {
    const session = await openSession(options, reset);
    try {
      await ask(session, exchanges[0] as RequestTemplate);
    } finally {
      await session.close();
    }
  };
  return runConnections(connections, seconds, (connection, done) => {
    play(connection).then(() => done(undefined), done);
  });
}

type Act<L> = (connection: L, done: (failure: Error | undefined) => void) => void;

/**
 * Each connection repeats its work until the time is over. With `thinkMs` it waits before each time: at first up to that
 * long, so that the connections do not act together, then half as long to one and a half times as long.
 */
function runConnections<L>(connections: L[], seconds: number, act: Act<L>, thinkMs = 0): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let done = 0;
    let busy = connections.length;
    let stopping = false;
    const thinking = new Set<NodeJS.Timeout>();
    const think = (ms: number, go: () => void): void => {
      if (thinkMs === 0) return go();
      const timer = setTimeout(() => {
        thinking.delete(timer);
        go();
      }, ms);
      thinking.add(timer);
    };
    const stop = setTimeout(() => {
      stopping = true;
      busy -= thinking.size;
      if (busy === 0) finish(undefined);
    }, seconds * 1000);
    const late = setTimeout(
      () => finish(new LoadFailure("TIMEOUT", "no response in time")),
      seconds * 1000 + PATIENCE_MS,
    );
    const finish = (failure: Error | undefined): void => {
      clearTimeout(stop);
      clearTimeout(late);
      for (const timer of thinking) clearTimeout(timer);
      stopping = true;
      if (failure !== undefined) reject(failure);
      else resolve({ done, seconds: (performance.now() - started) / 1000 });
    };
    for (const connection of connections) {
      const next = (failure: Error | undefined): void => {
        if (failure === undefined) done++;
        if (failure === undefined && !stopping) think(thinkMs * (0.5 + Math.random()), () => act(connection, next));
        else if (failure !== undefined || --busy === 0) finish(failure);
      };
      think(thinkMs * Math.random(), () => act(connection, next));
    }
  });
}

function timed(done: (failure: Error | undefined) => void, onStep: (milliseconds: number) => void): typeof done {
  const asked = performance.now();
  return (failure) => {
    if (failure === undefined) onStep(performance.now() - asked);
    done(failure);
  };
}

async function openSession({ url, address, token, source }: LoadOptions, reset: RequestTemplate): Promise<RawSession> {
  const target = readTarget(url, address, token);
  const session = await openRawSession(target, connectSocket(target, source?.()));
  try {
    await ask(session, reset);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

function ask(session: RawSession, exchange: RequestTemplate): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new LoadFailure("TIMEOUT", "no response in time")), PATIENCE_MS);
    session.ask(exchange, (failure) => {
      clearTimeout(late);
      if (failure === undefined) resolve();
      else reject(failure);
    });
  });
}

function resetOf({ reset = {} }: Workload): RequestTemplate {
  return new RequestTemplate({ type: "reset", data: reset }, () => undefined);
}

function stepsOf(workload: Workload, connection: number): RequestTemplate[] {
  return workload
    .actions(connection)
    .map((action) => new RequestTemplate({ type: "step", data: action }, (data) => workload.check(data, action)));
}
