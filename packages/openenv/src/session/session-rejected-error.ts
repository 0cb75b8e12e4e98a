import type { ErrorData } from "../protocol/messages.js";

/** A session could not be given; `data` is what the peer is told. */
export class SessionRejectedError extends Error {
  readonly data: ErrorData;

  constructor(data: ErrorData, options?: ErrorOptions) {
    super(data.message, options);
    this.data = data;
  }
}
