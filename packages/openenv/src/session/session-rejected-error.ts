import type { ErrorData } from "../protocol/messages.js";

/** A session could not be opened; `data` is the error for the peer. */
export class SessionRejectedError extends Error {
  readonly data: ErrorData;

  constructor(data: ErrorData, options?: ErrorOptions) {
    super(data.message, options);
    this.data = data;
  }
}
