import type { ServerMessage } from "../../protocol/messages.js";
import { isThenable } from "../../util/thenable.js";
import { dispatch } from "../dispatch.js";
import { errorMessage, invalidMessage, readFrame } from "../frame.js";
import { renderReply } from "../reply.js";
import type { Runtime } from "../runtime.js";
import type { Sessions } from "../sessions.js";
import type { Connection } from "./connection.js";
import type { SocketProtocol } from "./protocol.js";

/** The frames of `/ws`. */
export function createFrameProtocol(runtime: Runtime, sessions: Sessions): SocketProtocol {
  const plain = { sessions };
  const render = (connection: Connection, reply: ServerMessage): string => {
    const { extensions } = connection;
    if (extensions.length === 0 || connection.answered) return renderReply(reply, runtime.maxAnswerBytes);
    return renderReply({ ...reply, openenv: { extensions } }, runtime.maxAnswerBytes);
  };
  const answer = (connection: Connection, text: string): ReturnType<SocketProtocol["answer"]> => {
    const message = readFrame(text);
    if (message.type === "close") return null;
    if (message.type === "error") return render(connection, message);
    const { extensions } = connection;
    const options =
      extensions.length === 0
        ? plain
        : { sessions, timing: extensions.includes("timing"), warnings: extensions.includes("warnings") };
    const reply = dispatch(connection.session, message, options);
    return isThenable(reply) ? reply.then((value) => render(connection, value)) : render(connection, reply);
  };
  return {
    answer(connection, text) {
      try {
        return answer(connection, text);
      } catch (error) {
        // A mistake of this package, which must not take the other sessions along.
        runtime.log.error({ err: error }, "a frame could not be answered");
        return render(connection, errorMessage("EXECUTION_ERROR", "Internal Server Error"));
      }
    },
    binary() {
      const issue = { type: "string_type", loc: [], msg: "frames are JSON text, not binary", input: null };
      return JSON.stringify(invalidMessage([issue]));
    },
    refuse: (refusal) => JSON.stringify({ type: "error", data: refusal.data }),
  };
}
