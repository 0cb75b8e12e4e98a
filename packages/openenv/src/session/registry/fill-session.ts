import type { Environment } from "../../environment/environment.js";
import { isHosted } from "../../environment/environment-host.js";
import { isThenable } from "../../util/async/thenable.js";
import { CALL, markCall } from "../calls/call-marks.js";
import { type FactoryCall, makeEnvironment } from "../make-environment.js";
import type { Session } from "../session.js";

interface Filling {
  call: FactoryCall;
  /** Its environment could not be created. */
  failed(): void;
  /** Its host has lost its environment; the call in flight has been answered. */
  lost(reason: string): void;
}

/** Creates the environment of a session. @throws SessionRejectedError (FACTORY_ERROR), or rejects with it. */
export function fillSession(session: Session, { call, failed, lost }: Filling): Session | Promise<Session> {
  const adopt = (instance: Environment): Session => {
    session.adopt(instance);
    if (isHosted(instance)) instance.onLost((reason) => void setImmediate(() => lost(reason)));
    return session;
  };
  const fail = (error: unknown): never => {
    failed();
    throw error;
  };
  try {
    const of = { server: session.runtime.number, session: session.tag };
    const made = markCall(of, CALL.create, () => makeEnvironment(session.runtime, call));
    return isThenable(made) ? made.then(adopt, fail) : adopt(made);
  } catch (error) {
    return fail(error);
  }
}
