import { OpenEnvError } from "../errors.js";

/** A session's environment is gone for good: its call is answered with this code and message, then the session ends. */
export class SessionKilledError extends OpenEnvError {
  declare readonly code: "TIMEOUT" | "ISOLATE_LOST";

  /** The message also is the reason in the close frame, which has room for 123 bytes. */
  constructor(code: "TIMEOUT" | "ISOLATE_LOST", message: string) {
    super(code, message);
  }
}
