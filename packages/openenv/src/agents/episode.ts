import type { CallOptions } from "../client/options.js";
import { ToolCallError, type ToolCallResult, type ToolInfo } from "../client/tools/mcp-result.js";
import { RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isAgentsDoing } from "../protocol/tools.js";
import { isObject } from "../util/is-object.js";
import { type AgentClient, readTools } from "./read-tools.js";

/** A call of an agent that the environment answered. */
export interface AgentCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** What the agent read. */
  readonly text: string;
  readonly reward: number | boolean | null;
  readonly done: boolean;
  /** Why the arguments or the action were wrong; the agent read the message. */
  readonly error: ToolCallError | RemoteError | null;
}

/** What an agent did in the current episode of a session. */
export interface AgentEpisode {
  readonly tools: readonly ToolInfo[];
  readonly calls: readonly AgentCall[];
  /** Sum of the rewards of all calls; true counts as 1. */
  readonly reward: number;
  readonly done: boolean;
  /** The error that ended the episode without a result, such as a lost session: mask the episode. */
  readonly failure: Error | undefined;
  /**
   * Calls a tool and returns the text for the agent, also when the tool failed. Calls run one after the other. After
   * the end of the episode a call only says so, and after a failure it throws that again.
   * @throws RemoteError, ConnectionError or ToolCallError when the call failed through no fault of the agent.
   */
  call(name: string, given: unknown, call?: CallOptions): Promise<string>;
  /** True after the end of the episode. @throws the failure */
  isOver(): boolean;
}

const OVER = "The episode is over. Do not call tools any more.";

/**
 * Presents a session to an agent: the tools of the environment or, without any, one tool whose arguments are the action.
 * Reset before; create another one after the next reset.
 * @throws RemoteError or ConnectionError when the tools cannot be read.
 * @example
 * await env.reset({ seed: 7 });
 * const episode = await createAgentEpisode(env);
 * const { text } = await generateText({ model, prompt: "Find the book.", ...toAiSdk(episode) });
 */
export async function createAgentEpisode(env: AgentClient): Promise<AgentEpisode> {
  const { tools, call: callTool } = await readTools(env);
  // Outside of the episode nothing is rewarded, and Python servers do not say whose fault an error is.
  const isForAgent = ({ errorType }: ToolCallError): boolean =>
    isAgentsDoing({ error: { error_type: errorType } }) ||
    (env.mode === "production" && errorType === "execution_error");
  const calls: AgentCall[] = [];
  let failure: Error | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const run = async (name: string, given: unknown, options: CallOptions): Promise<string> => {
    if (failure) throw failure;
    if (episode.done) return OVER;
    const input = readArguments(given);
    if (typeof input === "string") return input;
    try {
      const answer: Answer = await callTool(name, input, options).catch((error) => toAnswer(error, isForAgent));
      const { text, reward, done, error = null } = answer;
      calls.push({ name, arguments: input, text, reward, done, error });
      return text;
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  };

  const episode: AgentEpisode = {
    tools,
    calls,
    get reward() {
      return calls.reduce((sum, { reward }) => sum + Number(reward ?? 0), 0);
    },
    get done() {
      return calls.at(-1)?.done ?? false;
    },
    get failure() {
      return failure;
    },
    call: (name, given, options = {}) => {
      const answer = last.then(() => run(name, given, options));
      last = answer.catch(() => {});
      return answer;
    },
    isOver: () => {
      if (failure) throw failure;
      return episode.done;
    },
  };
  return episode;
}

/** The arguments of a model, which some frameworks pass as text; a string says what is wrong with them. */
function readArguments(given: unknown): JsonObject | string {
  let value: unknown = given ?? {};
  try {
    if (typeof value === "string") value = JSON.parse(value || "{}") as unknown;
  } catch {
    return "The arguments are not JSON.";
  }
  return isObject(value) ? value : "The arguments are not a JSON object.";
}

type Answer = Pick<ToolCallResult, "text" | "reward" | "done"> & { error?: ToolCallError | RemoteError };

/** What the environment says about a call, as its answer. @throws any other error: it is not the world's answer. */
function toAnswer(error: unknown, isForAgent: (error: ToolCallError) => boolean): Answer {
  if (error instanceof ToolCallError && isForAgent(error)) {
    const { message: text, reward, done } = error;
    return { text, reward, done, error };
  }
  if (error instanceof RemoteError && error.wireCode === "VALIDATION_ERROR") {
    return { text: error.message, reward: null, done: false, error };
  }
  throw error;
}
