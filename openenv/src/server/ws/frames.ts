import type { ServerMessage } from "../../protocol/messages.js";
import { isThenable } from "../../util/thenable.js";
import { dispatch } from "../dispatch.js";
import { errorMessage, invalidMessage, readFrame } from "../frame.js";
import { renderReply } from "../reply.js";
import type { Runtime } from "../runtime.js";
import type { Sessions } from "../sessions.js";
import type { Conversation, SocketProtocol } from "./protocol.js";

/** The frames of `/ws`. */
export function createFrameProtocol(runtime: Runtime, sessions: Sessions): SocketProtocol {
  const plain = { sessions };
  const render = (conversation: Conversation, reply: ServerMessage): string => {
    const { extensions } = conversation;
    if (extensions.length === 0 || conversation.answered) return renderReply(reply, runtime.maxAnswerBytes);
    return renderReply({ ...reply, openenv: { extensions } }, runtime.maxAnswerBytes);
  };
  const answer = (conversation: Conversation, text: string): ReturnType<SocketProtocol["answer"]> => {
    const message = readFrame(text);
    if (message.type === "close") return null;
    if (message.type === "error") return render(conversation, message);
    const { extensions } = conversation;
    const options =
      extensions.length === 0
        ? plain
        : { sessions, timing: extensions.includes("timing"), warnings: extensions.includes("warnings") };
    const reply = dispatch(conversation.session, message, options);
    return isThenable(reply) ? reply.then((value) => render(conversation, value)) : render(conversation, reply);
  };
  return {
    answer(conversation, text) {
      try {
        return answer(conversation, text);
      } catch (error) {
        // A mistake of this package, which must not take the other sessions along.
        runtime.log.error({ err: error }, "a frame could not be answered");
        return render(conversation, errorMessage("EXECUTION_ERROR", "Internal Server Error"));
      }
    },
    binary() {
      const issue = { type: "string_type", loc: [], msg: "frames are JSON text, not binary", input: null };
      return JSON.stringify(invalidMessage([issue]));
    },
    refuse: (refusal) => JSON.stringify({ type: "error", data: refusal.data }),
  };
}
