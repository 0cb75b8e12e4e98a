import type { JsonObject } from "../protocol/messages.js";
import { encodeFrame, OPCODE } from "./frames.js";

/** Says what is wrong with the data of an answer; undefined when it is right. */
export type Check = (data: JsonObject) => string | undefined;

/** A request that is sent over and over, and what may come back. */
export class Exchange {
  readonly frame: Buffer;
  readonly #check: Check;
  /** An answer that was read and found right: one that equals it byte by byte needs no second look. */
  #accepted: Buffer | undefined;

  constructor(message: JsonObject, check: Check) {
    this.frame = encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(message)));
    this.#check = check;
  }

  /** The reason why an answer is wrong; undefined when it is right. */
  judge(answer: Buffer): Error | undefined {
    if (this.#accepted?.equals(answer)) return undefined;
    const problem = this.#read(answer);
    if (problem !== undefined) return new Error(`wrong answer: ${problem}: ${answer.toString("utf8", 0, 200)}`);
    this.#accepted = Buffer.from(answer);
    return undefined;
  }

  #read(answer: Buffer): string | undefined {
    try {
      const { type, data } = JSON.parse(answer.toString()) as { type?: unknown; data?: JsonObject };
      if (type !== "observation" || data === undefined) return "no observation";
      return this.#check(data);
    } catch (error) {
      return (error as Error).message;
    }
  }
}
