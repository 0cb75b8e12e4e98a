import type { Duplex } from "node:stream";
import * as z from "zod";

/** Code that an interpreter runs can reach its end of the channel, so whatever comes out of it is checked. */
export interface SandboxChannel {
  send(message: object): void;
}

const LENGTH_BYTES = 4;
const MAX_ANSWER_BYTES = 4096;

const answerSchema = z.union([
  z.strictObject({ ready: z.literal(true) }),
  z.strictObject({
    id: z.string(),
    exit_code: z.int().min(0).max(255),
    timed_out: z.boolean().optional(),
  }),
]);

export type SandboxAnswer = z.infer<typeof answerSchema>;

interface Ends {
  /** The interpreter reads here, and has nothing to write. */
  questions: Duplex;
  answers: Duplex;
}

interface Handlers {
  answered(answer: SandboxAnswer): void;
  /** What came is no answer; nothing after it can be trusted. */
  garbled(): void;
}

/** Frames: a length of four bytes, then JSON; on two separate pipes. */
export function createChannel({ questions, answers }: Ends, handlers: Handlers): SandboxChannel {
  let pending: Buffer = Buffer.alloc(0);
  const read = (chunk: Buffer): void => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= LENGTH_BYTES) {
      const length = pending.readUInt32BE();
      if (length > MAX_ANSWER_BYTES) return fail();
      const end = LENGTH_BYTES + length;
      if (pending.length < end) return;
      const answer = parseAnswer(pending.subarray(LENGTH_BYTES, end));
      pending = pending.subarray(end);
      if (!answer) return fail();
      handlers.answered(answer);
    }
  };
  const fail = (): void => {
    answers.off("data", read).resume();
    pending = Buffer.alloc(0);
    handlers.garbled();
  };
  answers.on("data", read);
  questions.once("data", fail);
  // The end of the process says more than the errors of its pipes.
  for (const end of [questions, answers]) end.on("error", () => {});
  return {
    send(message) {
      const body = Buffer.from(JSON.stringify(message));
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32BE(body.length);
      questions.write(Buffer.concat([length, body]));
    },
  };
}

function parseAnswer(body: Buffer): SandboxAnswer | undefined {
  try {
    return answerSchema.safeParse(JSON.parse(body.toString())).data;
  } catch {
    return undefined;
  }
}
