import type { JsonObject } from "../protocol/messages.js";
import type { AgentEpisode } from "./episode.js";

/** The part of the package `langchain` that is used. */
export interface LangChain<T, M> {
  tool(
    call: (given: never, config: { signal?: AbortSignal }) => Promise<string>,
    fields: { name: string; description: string; schema: JsonObject },
  ): T;
  createMiddleware(config: {
    name: string;
    beforeModel: { canJumpTo: "end"[]; hook: () => { jumpTo: "end" } | undefined };
  }): M;
}

/** Options of `createAgent` of LangChain.js. */
export interface LangChainOptions<T, M> {
  tools: T[];
  /** Ends the run at the end of the episode. Throws the failure of the episode. */
  middleware: M[];
}

/**
 * Converts the tools of a session for LangChain.js. A run rejects with LangChain's `MiddlewareError`, whose `cause` is
 * the failure of the episode.
 * @example
 * import * as langchain from "langchain";
 * const agent = langchain.createAgent({ model, ...toLangChain(episode, langchain) });
 */
export function toLangChain<T, M>(episode: AgentEpisode, langchain: LangChain<T, M>): LangChainOptions<T, M> {
  const tools = episode.tools.map(({ name, description, inputSchema: schema }) =>
    langchain.tool((given, { signal }) => episode.call(name, given, { signal }), { name, description, schema }),
  );
  const hook = (): { jumpTo: "end" } | undefined => (episode.isOver() ? { jumpTo: "end" } : undefined);
  const middleware = langchain.createMiddleware({ name: "openenv", beforeModel: { canJumpTo: ["end"], hook } });
  return { tools, middleware: [middleware] };
}
