import { ConnectionError, RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage } from "../../protocol/transport.js";
import { asFailure, type CallFailure, isFailure } from "../failures.js";
import type { Method } from "../operations.js";
import type { CallOptions } from "../options.js";
import type { Prepared } from "../prepare.js";
import { linkTo } from "../result.js";
import { LimitedTransport } from "../transport/limited-transport.js";
import { type TurnHolder, takeTurn } from "../transport/turns.js";
import {
  type BatchAnswer,
  findFault,
  type Item,
  readAnswer,
  readForked,
  readItems,
  readOpened,
  writeItems,
} from "./batch-messages.js";
import type { ServerTarget } from "./server-target.js";

/** A session to copy. */
export interface ForkItem {
  session: number;
  count: number;
  rng: "same" | "split";
}

/** A socket and its sessions: many with batch frames, or one with plain frames if the server does not support them. */
export class SocketGroup implements TurnHolder {
  readonly target: ServerTarget;
  turn: Promise<void> | undefined;
  /** The number of sessions that it has or is opening. */
  size = 0;
  /** Until then, by `performance.now()`, no session is moved to it: its server is full, or asks its clients to leave. */
  avoidedUntil = 0;
  readonly #limit: number;
  #transport: LimitedTransport | undefined;
  #isBatch = false;
  #base = "";
  /** The first answer of a server without batch frames: it has no room, or the socket has its one session. */
  #plain: ReceivedMessage | undefined;

  constructor(target: ServerTarget, limit: number) {
    this.target = target;
    this.#limit = limit;
  }

  get up(): boolean {
    return this.#transport?.up ?? false;
  }

  get isFull(): boolean {
    return this.size >= this.#limit;
  }

  /** True when so many more sessions can be opened on the socket. */
  hasRoomFor(count: number): boolean {
    return (this.#isBatch || this.size === 0) && this.up && this.size + count <= this.#limit;
  }

  /** The process that has the sessions; undefined where it is not known. */
  get server(): string | undefined {
    return this.#transport?.server;
  }

  get extensions(): readonly string[] {
    return this.#transport?.extensions ?? [];
  }

  /** What a result has of one of the sessions. */
  linkTo(session: number): { url?: string } {
    const handle = this.#transport?.handle;
    return linkTo(this.#base, handle === undefined || !this.#isBatch ? handle : `${handle}.${session}`);
  }

  /**
   * Opens sessions, and the socket before the first ones. Returns the number of each session, or why it was rejected.
   * The list is shorter than `count` for a server without batch frames, whose sockets have one session each.
   */
  async open(count: number, prepared: Prepared, limits: CallOptions): Promise<(number | CallFailure)[]> {
    const { target } = this;
    if (!this.#transport) {
      await this.connect(prepared, limits);
      if (!target.hasBatch) return [0];
    }
    const answer = this.#plain ?? (await this.#request({ type: "open_many", data: { count } }, limits));
    this.#isBatch = this.extensions.includes("batch");
    if (this.#isBatch) return this.#itemsOf(answer, count).map(readOpened);
    target.hasBatch = false;
    return [this.up ? 0 : readOpened(answer)];
  }

  /** Opens the socket. With `isMoving` a server that is paused or stops refuses it. */
  async connect(prepared: Prepared, { signal }: CallOptions, isMoving = false): Promise<void> {
    const { target } = this;
    const { hasBatch } = target;
    this.#base = prepared.base;
    const onRecovered = (): void => {
      target.recoveries.connections++;
      target.recoveries.sessions += this.size;
    };
    const connect = () => prepared.open(signal, { extensions: hasBatch ? ["batch"] : [], isMoving, onRecovered });
    this.#transport = new LimitedTransport(await (hasBatch ? connect() : target.handshakes.run(1, signal, connect)));
  }

  /** Opens the socket without a session, to learn which server it reaches. */
  async look(prepared: Prepared, limits: CallOptions, isMoving = false): Promise<void> {
    await this.connect(prepared, limits, isMoving);
    const answer = await this.#request(writeItems("state", []), limits);
    this.#isBatch = this.extensions.includes("batch");
    if (!this.#isBatch) this.#plain = answer;
  }

  /** Returns one answer for each item, in order; an item that cannot be encoded fails alone. */
  async call(method: Method, items: readonly Item[], limits: CallOptions): Promise<(BatchAnswer | CallFailure)[]> {
    try {
      const single = method === "state" ? { type: method } : { type: method, data: items[0]?.data };
      const answer = await this.#request(this.#isBatch ? writeItems(method, items) : single, limits);
      const replies = this.#isBatch ? this.#itemsOf(answer, items.length) : [answer];
      return replies.map((reply) => readAnswer(method, reply, answer.recovered));
    } catch (error) {
      const failure = asFailure(error);
      const faults = items.map(findFault);
      const good = items.filter((_, nth) => faults[nth] === undefined);
      if (good.length === items.length) return items.map(() => failure);
      // Nothing was sent yet: send the others without the faulty items.
      const answers = good.length === 0 ? [] : await this.call(method, good, limits);
      return faults.map((fault) => fault ?? (answers.shift() as BatchAnswer));
    }
  }

  /** Ends sessions; the socket stays open. */
  async end(sessions: readonly number[], limits: CallOptions): Promise<void> {
    if (!this.#isBatch || !this.up) return;
    await this.#request({ type: "close_many", data: { items: sessions.map((session) => ({ session })) } }, limits);
  }

  /** Why the socket cannot have so many more sessions that are copies; undefined when it can. */
  obstacleTo(copies: number): CallFailure | undefined {
    if (!this.#isBatch) {
      return new RemoteError("NOT_RESTORABLE", `${this.target.url} has no batch frames, which copy sessions.`);
    }
    if (this.size + copies <= this.#limit) return undefined;
    const message = `A socket has at most ${this.#limit} sessions: copy sessions of several sockets.`;
    return new RemoteError("CAPACITY_REACHED", message);
  }

  /** Copies sessions. Returns the numbers of the copies of each, or why there are none. */
  async fork(items: readonly ForkItem[], limits: CallOptions): Promise<(number[] | CallFailure)[]> {
    const answer = await this.#request({ type: "fork_many", data: { items } }, limits);
    return this.#itemsOf(answer, items.length).map((reply, nth) => readForked(reply, items[nth]?.count ?? 0));
  }

  async close(): Promise<void> {
    await this.#transport?.close();
  }

  #request(message: JsonObject, limits: CallOptions): Promise<ReceivedMessage> {
    return takeTurn([this], limits.signal, async () => (this.#transport as LimitedTransport).request(message, limits));
  }

  #itemsOf(answer: ReceivedMessage, count: number): unknown[] {
    const items = readItems(answer, count);
    if (!isFailure(items)) return items;
    // After an invalid answer, the next one would be matched to the wrong request.
    if (items instanceof ConnectionError) this.#transport?.drop(items);
    throw items;
  }
}
