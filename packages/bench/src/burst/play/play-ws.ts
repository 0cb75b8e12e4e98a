import { readAnswer } from "../../answer.js";
import { LoadFailure } from "../../failure.js";
import { type ConnectTarget, openRawSession, type PendingRequest, type RawSession } from "../../raw-session.js";
import { encodeFrame, OPCODE } from "../../ws-codec.js";
import type { PlayJob, PlayOn } from "../types.js";

/** Plays on `/ws`: the frames are made once for all requests of a burst. */
export function createWsPlay(target: ConnectTarget, { action }: PlayJob): PlayOn {
  const reset = encode({ type: "reset", data: {} });
  const step = encode({ type: "step", data: action });
  return async (socket, played) => {
    const session = await openRawSession(target, socket);
    played.connected();
    await ask(session, reset, (data) => played.wasReset(data));
    await ask(session, step, (data) => played.stepped(data));
    return () => session.close();
  };
}

function ask(session: RawSession, frame: Buffer, take: (data: Record<string, unknown>) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const question: PendingRequest = {
      frame,
      judge(payload) {
        const answer = readAnswer(payload);
        if (answer instanceof LoadFailure) return answer;
        take(answer);
        return undefined;
      },
    };
    session.ask(question, (failure) => {
      if (failure === undefined) resolve();
      else reject(failure);
    });
  });
}

function encode(message: object): Buffer {
  return encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(message)));
}
