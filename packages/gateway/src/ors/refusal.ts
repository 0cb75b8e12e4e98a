import type { HostError } from "../host.js";

/** A request that is answered with a status and `{ detail }`. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.headers = headers;
  }
}

/** A request that fails with an error of the session, which has its own status. */
export class SessionFailure extends Error {
  readonly data: HostError;

  constructor(data: HostError) {
    super(data.message);
    this.data = data;
  }
}
