import type { JsonObject } from "openenv-ts/protocol";
import { readAnswer } from "./answer.js";
import { LoadFailure } from "./failure.js";
import { encodeFrame, OPCODE } from "./ws-codec.js";

/** Returns the problem of a response; undefined when it is correct. */
export type AnswerCheck = (data: JsonObject) => string | undefined;

/** A request that is sent repeatedly, and the check of its response. */
export class RequestTemplate {
  readonly frame: Buffer;
  readonly #check: AnswerCheck;
  /** A response that passed the check; an identical response needs no second check. */
  #accepted: Buffer | undefined;
  #ended = false;

  constructor(message: JsonObject, check: AnswerCheck) {
    this.frame = encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(message)));
    this.#check = check;
  }

  /** True when the episode had ended in the last response that passed the check. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The reason why a response is wrong; undefined when it is correct. */
  judge(answer: Buffer): Error | undefined {
    if (this.#accepted?.equals(answer)) return undefined;
    const data = readAnswer(answer);
    if (data instanceof LoadFailure) return data;
    const problem = this.#look(data);
    if (problem !== undefined) return new Error(`wrong response: ${problem}: ${answer.toString("utf8", 0, 200)}`);
    this.#accepted = Buffer.from(answer);
    this.#ended = data["done"] === true;
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
