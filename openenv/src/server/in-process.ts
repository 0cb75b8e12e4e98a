import type { EnvironmentDefinition } from "../env/environment.js";
import { ConnectionError } from "../errors.js";
import type { Link, ReceivedMessage } from "../protocol/link.js";
import type { JsonObject } from "../protocol/messages.js";
import { dispatch } from "./dispatch.js";
import { readFrame } from "./frame.js";
import { renderReply } from "./reply.js";
import { createRuntime } from "./runtime.js";
import { Session } from "./session.js";

export interface InProcessOptions {
  timing?: boolean | undefined;
}

/**
 * A session without a socket, through the same reading, dispatch and writing as one with: what passes here passes there.
 * @throws whatever the factory throws.
 */
export async function createInProcessLink(
  definition: EnvironmentDefinition,
  options: InProcessOptions = {},
): Promise<Link> {
  const runtime = createRuntime(definition);
  const session = new Session(runtime);
  session.adopt(await definition.create());
  const timing = options.timing === true;
  return {
    get open() {
      return session.state === "ready";
    },
    async request(message: JsonObject, { timeoutMs, signal }): Promise<ReceivedMessage> {
      if (session.state !== "ready") throw new ConnectionError("SESSION_LOST", "the session has ended; call reset");
      signal?.throwIfAborted();
      const frame = readFrame(JSON.stringify(message));
      if (frame.type === "close") throw new ConnectionError("PROTOCOL_ERROR", "close() ends a session in process");
      const reply =
        frame.type === "error" ? frame : await dispatch(session, frame, { timing, warnings: true, timeoutMs });
      const received = JSON.parse(renderReply(reply, runtime.maxAnswerBytes)) as ReceivedMessage;
      return { ...received, openenv: { extensions: timing ? ["warnings", "timing"] : ["warnings"] } };
    },
    close: () => session.close("closed by the client"),
  };
}
