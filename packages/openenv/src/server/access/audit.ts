import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../util/log.js";
import { clip } from "../../util/text/clip.js";
import type { Authorization } from "./authorization.js";

/** The time that the answer to a further wrong token of an address waits. */
const DELAY_MS = 1_000;
/** Answers that wait at the same time. Beyond it, a wrong token is answered at once. */
const MAX_DELAYED = 100;
/** The time that the last wrong token of an address counts, and the time between two summaries. */
const WINDOW_MS = 60_000;
/** Addresses that are remembered. Beyond it, the one with the oldest request is forgotten. */
const MAX_CLIENTS = 1_000;
/** Refused tokens with a line each, and addresses with a line in the summary. The others are only counted. */
const MAX_LINES = 10;
const MAX_FORWARDED = 200;

/** The peer of a request, and what it requested, without secrets. */
export interface Requester {
  /** The address of the other end of the connection, which may be a proxy. */
  client: string;
  headers: IncomingHttpHeaders;
  request: string;
  /** The name of the peer, if a plugin has recognised it. */
  principal?: string | undefined;
  /** The whole id, which the log shortens. */
  session?: string | undefined;
}

interface Refused {
  at: number;
  /** Refusals that are in no line yet. */
  count: number;
}

/**
 * Logs what operators do and which tokens are refused, and delays an address that sends several wrong tokens. The delay
 * is for the answer to a wrong token only: behind a proxy, all its clients have one address.
 */
export class Audit {
  readonly #log: Log;
  readonly #authorization: Pick<Authorization, "isWrong">;
  readonly #delay: () => Promise<void>;
  readonly #clients = new Map<string, Refused>();
  readonly #readers = new Set<string>();
  #delayed = 0;
  #lines = 0;
  /** Refusals of forgotten addresses that are in no line yet. */
  #others = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log, authorization: Pick<Authorization, "isWrong">, delay = (): Promise<void> => sleep(DELAY_MS)) {
    this.#log = log;
    this.#authorization = authorization;
    this.#delay = delay;
  }

  /** An operator does this, such as `ends a session`. */
  acts(requester: Requester, act: string): void {
    this.#log.info(describe(requester), `an operator ${act}`);
  }

  /** Logs what programs repeat, such as a scrape, once for each address, as {@link acts} does. */
  polls(requester: Requester, act: string): void {
    const key = `${act} ${requester.client}`;
    if (this.#readers.has(key)) return;
    if (this.#readers.size >= MAX_CLIENTS) this.#readers.clear();
    this.#readers.add(key);
    this.acts(requester, `${act}, and may repeat it`);
  }

  /**
   * The token of a request is refused: resolves when it may be answered. A token of the server that lacks the right is
   * logged and not delayed; a request without a token is neither.
   */
  async refuse(requester: Requester): Promise<void> {
    const isWrong = this.#authorization.isWrong(requester.headers);
    if (isWrong === undefined) return;
    const isFirst = this.#count(requester);
    if (!isWrong || isFirst || this.#delayed >= MAX_DELAYED) return;
    this.#delayed++;
    await this.#delay();
    this.#delayed--;
  }

  /** Logs what was only counted. */
  close(): void {
    clearTimeout(this.#timer);
    this.#summarize();
  }

  /** Returns true for the first refusal of an address in a while. */
  #count(requester: Requester): boolean {
    const { client } = requester;
    const now = performance.now();
    const before = this.#clients.get(client);
    const refused = { at: now, count: before?.count ?? 0 };
    this.#clients.delete(client);
    this.#clients.set(client, refused);
    const [oldest] = this.#clients.size > MAX_CLIENTS ? this.#clients : [];
    if (oldest !== undefined) {
      this.#others += oldest[1].count;
      this.#clients.delete(oldest[0]);
    }
    this.#timer ??= setTimeout(() => this.#summarize(), WINDOW_MS).unref();
    if (this.#lines < MAX_LINES) {
      this.#lines++;
      this.#log.warn(describe(requester), "a token was refused");
    } else refused.count++;
    return before === undefined || now - before.at > WINDOW_MS;
  }

  #summarize(): void {
    this.#timer = undefined;
    this.#lines = 0;
    const counted = [...this.#clients].filter(([, { count }]) => count > 0).sort(([, a], [, b]) => b.count - a.count);
    for (const [nth, [client, refused]] of counted.entries()) {
      if (nth < MAX_LINES) this.#log.warn({ client, count: refused.count }, "more tokens were refused");
      else this.#others += refused.count;
      refused.count = 0;
    }
    if (this.#others > 0) this.#log.warn({ count: this.#others }, "tokens of other addresses were refused");
    this.#others = 0;
  }
}

/** `forwardedFor` is a claim: a client can write it unless a proxy replaces it. */
function describe({ client, headers, principal, request, session }: Requester): object {
  const forwarded = headers["x-forwarded-for"];
  const forwardedFor = forwarded === undefined ? undefined : clip(String(forwarded), MAX_FORWARDED);
  return { client, principal, forwardedFor, request: clip(request, MAX_FORWARDED), session };
}
