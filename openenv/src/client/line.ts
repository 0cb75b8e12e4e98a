import { ConnectionError } from "../errors.js";
import type { Link, ReceivedMessage } from "../protocol/link.js";
import type { JsonObject } from "../protocol/messages.js";
import { withLimits } from "./limits.js";
import type { CallOptions } from "./options.js";
import { createQueue } from "./queue.js";

export interface LineOptions {
  /** Makes another link, after the present one was lost. */
  open(signal: AbortSignal | undefined): Promise<Link>;
  link: Link;
  /** What its user calls for a new one, once this is closed. */
  opener: string;
}

/** A link that calls take in turn, and that can be replaced after it was lost. */
export class Line {
  /** The extensions that the server took up on the present link. */
  extensions: readonly string[] = [];
  readonly #options: LineOptions;
  readonly #queue = createQueue();
  readonly #closing = new AbortController();
  #link: Link;
  /** A call on the link was given up: its late answer must never be taken for another one's. */
  #dropped = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#link = options.link;
  }

  get up(): boolean {
    return !this.#dropped && this.#link.open;
  }

  /** Does `work` when the calls before it are done. @throws ConnectionError once it is closed, whatever the work meets. */
  async take<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#closing.signal.aborted) throw this.#closedError();
    await this.#queue.enter(signal);
    try {
      return await work();
    } catch (error) {
      throw this.explain(error);
    } finally {
      this.#queue.leave();
    }
  }

  /** What went wrong; once this is closed, that is the reason for whatever a call meets. */
  explain(error: unknown): unknown {
    return this.#closing.signal.aborted ? this.#closedError(error) : error;
  }

  /** `onDrop` hears why the link was given up. */
  async request(
    message: JsonObject,
    options: CallOptions,
    onDrop?: (error: ConnectionError) => void,
  ): Promise<ReceivedMessage> {
    const answer = await withLimits(this.#link.request(message), options, (error) => {
      this.drop();
      onDrop?.(error);
    });
    if (Array.isArray(answer.openenv?.extensions)) this.extensions = answer.openenv.extensions;
    return answer;
  }

  drop(): void {
    this.#dropped = true;
    void this.#link.close();
  }

  async reopen(signal: AbortSignal | undefined): Promise<void> {
    const closing = this.#closing.signal;
    await this.#link.close();
    this.#link = await this.#options.open(signal ? AbortSignal.any([signal, closing]) : closing);
    this.#dropped = false;
    this.extensions = [];
    // close() has seen the old link only.
    if (!closing.aborted) return;
    await this.#link.close();
    throw this.#closedError();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#queue.clear(this.#closedError());
    await this.#link.close();
  }

  #closedError(cause?: unknown): ConnectionError {
    const message = `The client was closed; open a new one with ${this.#options.opener}().`;
    return new ConnectionError("CLIENT_CLOSED", message, { cause });
  }
}
