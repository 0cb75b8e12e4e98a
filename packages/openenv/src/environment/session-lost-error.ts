import { OpenEnvError } from "../errors.js";

/**
 * Thrown by an author when the session cannot continue, because something that it depends on is gone: a browser, a
 * simulator, a container. The call is answered with `SESSION_LOST` and the reason, in every mode; then the session ends
 * and its slot is free. Clients report the outcome `lost`, so trainers mask the episode.
 */
export class SessionLostError extends OpenEnvError {
  readonly outcome = "lost" as const;
  /** Sent to the client unchanged. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super("SESSION_LOST", reason, options);
    this.reason = reason;
  }
}
