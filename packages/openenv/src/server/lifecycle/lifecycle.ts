import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.js";
import type { ServerContext } from "../context.js";
import { DRAIN_POLL_MS, drainSessions } from "./drain.js";

/** The time that a new connection gets to send its request. */
const SETTLE_MS = 100;
/** The time that environments get to close, even if less of the grace period is left. */
const CLOSE_LIMIT_MS = 1_000;

interface LifecycleParts {
  context: ServerContext;
  config: Pick<Config, "graceMs" | "drainMs">;
  sockets: { readonly open: number; drain(): void; terminate(): Promise<void> };
  listener: { retire(): void; close(): Promise<void> };
  /** What ends after the last session. */
  ends: EndStack;
  /** Called once, before anything is closed. */
  onClosing(): void;
}

/** Ends a server. Each method can be called several times. */
export interface Lifecycle {
  /** Waits for the sessions to finish, up to the drain time, and closes. */
  drain(): Promise<void>;
  /** Stops accepting connections, so that a balancer uses another server; existing connections are still served. */
  retire(limitMs: number): Promise<void>;
  close(): Promise<void>;
}

export function createLifecycle(parts: LifecycleParts): Lifecycle {
  const { context, config, listener } = parts;
  const { sessions } = context;
  const { drainMs } = config;
  let draining: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shutDown(parts));
  const drain = (): Promise<void> => (draining ??= drainMs > 0 ? drainThenClose() : close());
  const drainThenClose = async (): Promise<void> =>
    retire(await drainSessions(context, { limitMs: drainMs, isDone: () => sessions.inUse === 0 }));
  const retire = async (limitMs: number): Promise<void> => {
    const deadline = performance.now() + limitMs;
    sessions.departure.stop();
    if (!context.draining) await sessions.keeper?.findTakers(false);
    const sessionsEnd = async (): Promise<void> => {
      while (sessions.inUse > 0 && !context.closing && performance.now() < deadline) await sleep(DRAIN_POLL_MS);
    };
    // An HTTP session that was accepted at the last moment still needs new connections.
    if (context.draining) await sessionsEnd();
    if (!context.closing) listener.retire();
    await sleep(SETTLE_MS);
    await sessionsEnd();
    await close();
  };
  return { drain, retire, close };
}

/** What a server has started. It is ended in reverse order. */
export class EndStack {
  readonly #ends: (() => unknown)[] = [];

  /** `end` is called once, when the server stops or its start fails. */
  add(end: () => unknown): void {
    this.#ends.push(end);
  }

  async run(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}

async function shutDown({ context, config, sockets, listener, ends, onClosing }: LifecycleParts): Promise<void> {
  context.draining = true;
  context.closing = true;
  onClosing();
  sockets.drain();
  for (const part of context.streams) part.drain();
  // The listener stays open meanwhile, so that a balancer reads "unhealthy" from /health.
  const deadline = performance.now() + config.graceMs;
  const running = (): number => sockets.open + context.requests + (context.sessions.keeper?.cancelled ?? 0);
  while (running() > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS);
  if (sockets.open > 0) await sockets.terminate();
  await listener.close();
  await context.sessions.endAll("the server was stopped", Math.max(deadline - performance.now(), CLOSE_LIMIT_MS));
  await ends.run();
}
