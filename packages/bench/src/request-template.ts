import type { JsonObject } from "openenv-ts/protocol";
import { readAnswer } from "./answer.js";
import { LoadFailure } from "./failure.js";
import { encodeFrame, OPCODE } from "./ws-codec.js";

/** Says what is wrong with the data of an answer; undefined when it is right. */
export type AnswerCheck = (data: JsonObject) => string | undefined;

/** A request that is sent over and over, and what may come back. */
export class RequestTemplate {
  readonly frame: Buffer;
  readonly #check: AnswerCheck;
  /** An answer that was read and found right: one that equals it byte by byte needs no second look. */
  #accepted: Buffer | undefined;

  constructor(message: JsonObject, check: AnswerCheck) {
    this.frame = encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(message)));
    this.#check = check;
  }

  /** The reason why an answer is wrong; undefined when it is right. */
  judge(answer: Buffer): Error | undefined {
    if (this.#accepted?.equals(answer)) return undefined;
    const data = readAnswer(answer);
    if (data instanceof LoadFailure) return data;
    const problem = this.#look(data);
    if (problem !== undefined) return new Error(`wrong answer: ${problem}: ${answer.toString("utf8", 0, 200)}`);
    this.#accepted = Buffer.from(answer);
    return undefined;
  }

  #look(data: JsonObject): string | undefined {
    try {
      return this.#check(data);
    } catch (error) {
      return (error as Error).message;
    }
  }
}
