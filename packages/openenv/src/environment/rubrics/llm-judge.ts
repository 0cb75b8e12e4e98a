import { EnvironmentError } from "../../errors.js";
import { type ChatEndpointOptions, type ChatMessage, type ChatModel, createChatEndpoint } from "../chat-endpoint.js";
import { parseScore } from "./judge-score.js";
import { Rubric, type ScoreContext } from "./rubric.js";

/** Options of {@link LLMJudge}. */
export interface LLMJudgeOptions<A = unknown, O = unknown> extends ChatEndpointOptions {
  /**
   * The user message. In a string, `{action}` and `{observation}` are replaced by their JSON; other braces are kept.
   * Ask for a score from 0 to 1, or for a fraction such as 7/10.
   */
  prompt: string | ((action: A, observation: O) => string);
  /** The system message; default none. */
  system?: string;
  /**
   * Parses the score of a reply; undefined when there is none. By default it accepts `0.7`, `7/10` and `70%`: the
   * number labelled as score, or the only number.
   */
  parse?: (reply: string) => number | undefined;
}

/**
 * Asks a language model for the score, over any OpenAI-compatible endpoint. A failed request, a refusal or a reply
 * without a score is a RubricError, never a score.
 */
export class LLMJudge<A = unknown, O = unknown> extends Rubric<A, O> {
  readonly #ask: ChatModel;
  readonly #parse: (reply: string) => number | undefined;
  #prompt: LLMJudgeOptions<A, O>["prompt"];
  #system: string | undefined;

  /** @throws RangeError for an invalid option. */
  constructor({ prompt, system, parse = parseScore, ...endpoint }: LLMJudgeOptions<A, O>) {
    super();
    this.#ask = createChatEndpoint(endpoint);
    this.#parse = parse;
    this.#prompt = prompt;
    this.#system = system;
  }

  override async forward(action: A, observation: O, { signal, record }: ScoreContext): Promise<number> {
    const messages: ChatMessage[] = [{ role: "user", content: this.#render(action, observation) }];
    if (this.#system !== undefined) messages.unshift({ role: "system", content: this.#system });
    const ask = () => this.#ask(messages, signal);
    const reply = await (record === undefined ? ask() : record("judge", ask));
    const score = this.#parse(reply);
    if (score !== undefined && Number.isFinite(score)) return score;
    const advice = "ask for a score from 0 to 1 and nothing else";
    throw new EnvironmentError(`the judge's reply has no score: ${advice}`, { cause: new Error(reply.slice(0, 500)) });
  }

  /** A prompt function is code, so it is not saved. */
  protected override saveState(): Record<string, unknown> {
    return typeof this.#prompt === "string" ? { prompt: this.#prompt, system: this.#system } : { system: this.#system };
  }

  protected override loadState({ prompt, system }: Readonly<Record<string, unknown>>): void {
    if (typeof prompt === "string") this.#prompt = prompt;
    this.#system = typeof system === "string" ? system : undefined;
  }

  #render(action: A, observation: O): string {
    if (typeof this.#prompt === "function") return this.#prompt(action, observation);
    // The replacer is a function, so that text of an agent is never read as a placeholder or replacement pattern.
    return this.#prompt.replace(/\{(action|observation)\}/g, (_, name: string) =>
      JSON.stringify(name === "action" ? action : observation),
    );
  }
}
