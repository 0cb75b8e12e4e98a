import { OpenEnvError } from "../errors.js";

/** A session's environment is lost: its call is answered with this code and message, then the session ends. */
export class SessionKilledError extends OpenEnvError {
  declare readonly code: "TIMEOUT" | "ISOLATE_LOST";

  /** The message is also the reason in the close frame, which is limited to 123 bytes. */
  constructor(code: "TIMEOUT" | "ISOLATE_LOST", message: string) {
    super(code, message);
  }
}
