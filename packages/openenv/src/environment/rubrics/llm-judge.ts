import { EnvironmentError } from "../../errors.js";
import { type ChatEndpointOptions, type ChatMessage, type ChatModel, createChatEndpoint } from "../chat-endpoint.js";
import { parseScore } from "./judge-score.js";
import { Rubric, type ScoreContext } from "./rubric.js";

/** What a judge is asked, and where. */
export interface LLMJudgeOptions<A = unknown, O = unknown> extends ChatEndpointOptions {
  /**
   * What the model is asked. In a text, `{action}` and `{observation}` stand for those as JSON; other braces are left
   * alone. Ask for a score from 0 to 1, or for one such as 7/10.
   */
  prompt: string | ((action: A, observation: O) => string);
  /** The system message; default none. */
  system?: string;
  /** Reads the score out of a reply: undefined when there is none. Default: `0.7`, `7/10`, `70%`, the one that is called a score or the only one. */
  parse?: (reply: string) => number | undefined;
}

/**
 * Asks a language model for the score, over any OpenAI-compatible endpoint. A model that cannot be asked, refuses, or
 * answers no score is a RubricError, never a score.
 */
export class LLMJudge<A = unknown, O = unknown> extends Rubric<A, O> {
  readonly #ask: ChatModel;
  readonly #parse: (reply: string) => number | undefined;
  #prompt: LLMJudgeOptions<A, O>["prompt"];
  #system: string | undefined;

  /** @throws RangeError for an option that cannot work. */
  constructor({ prompt, system, parse = parseScore, ...endpoint }: LLMJudgeOptions<A, O>) {
    super();
    this.#ask = createChatEndpoint(endpoint);
    this.#parse = parse;
    this.#prompt = prompt;
    this.#system = system;
  }

  override async forward(action: A, observation: O, { signal }: ScoreContext): Promise<number> {
    const messages: ChatMessage[] = [{ role: "user", content: this.#render(action, observation) }];
    if (this.#system !== undefined) messages.unshift({ role: "system", content: this.#system });
    const reply = await this.#ask(messages, signal);
    const score = this.#parse(reply);
    if (score !== undefined && Number.isFinite(score)) return score;
    const advice = "ask for a score from 0 to 1 and nothing else";
    throw new EnvironmentError(`the judge's reply has no score: ${advice}`, { cause: new Error(reply.slice(0, 500)) });
  }

  /** A prompt that is a function is code and stays what it is. */
  protected override saveState(): Record<string, unknown> {
    return typeof this.#prompt === "string" ? { prompt: this.#prompt, system: this.#system } : { system: this.#system };
  }

  protected override loadState({ prompt, system }: Readonly<Record<string, unknown>>): void {
    if (typeof prompt === "string") this.#prompt = prompt;
    this.#system = typeof system === "string" ? system : undefined;
  }

  #render(action: A, observation: O): string {
    if (typeof this.#prompt === "function") return this.#prompt(action, observation);
    // Through a function, so that what an agent wrote is never read as a placeholder or a pattern.
    return this.#prompt.replace(/\{(action|observation)\}/g, (_, name: string) =>
      JSON.stringify(name === "action" ? action : observation),
    );
  }
}
