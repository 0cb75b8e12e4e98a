import type { Environment } from "../../environment/environment.js";
import { isThenable } from "../../util/async/thenable.js";
import { CALL, markCall } from "../calls/call-marks.js";
import { IsolatedEnvironment } from "../isolation/isolated-environment.js";
import { makeEnvironment } from "../make-environment.js";
import type { Session } from "../session.js";

interface Endings {
  /** Its environment could not be created. */
  failed(): void;
  /** The thread or process of its environment has ended; the call in flight has been answered. */
  killed(reason: string): void;
}

/** Creates the environment of a session. @throws SessionRejectedError (FACTORY_ERROR), or rejects with it. */
export function fillSession(session: Session, { failed, killed }: Endings): Session | Promise<Session> {
  const adopt = (instance: Environment): Session => {
    session.adopt(instance);
    if (instance instanceof IsolatedEnvironment) {
      instance.onKilled = (error) => void setImmediate(() => killed(error.message));
    }
    return session;
  };
  const fail = (error: unknown): never => {
    failed();
    throw error;
  };
  try {
    const of = { server: session.runtime.number, session: session.tag };
    const made = markCall(of, CALL.create, () => makeEnvironment(session.runtime));
    return isThenable(made) ? made.then(adopt, fail) : adopt(made);
  } catch (error) {
    return fail(error);
  }
}
