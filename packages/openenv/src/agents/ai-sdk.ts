import type { JsonObject } from "../protocol/messages.js";
import type { AgentEpisode } from "./episode.js";

/** A JSON Schema as a Standard Schema. The environment checks the arguments: its answer is for the model. */
interface PassingSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "openenv";
    readonly validate: (value: unknown) => { value: JsonObject };
    readonly jsonSchema: { readonly input: () => JsonObject; readonly output: () => JsonObject };
    readonly types?: { readonly input: JsonObject; readonly output: JsonObject };
  };
}

/** A tool of the AI SDK. */
export interface AiSdkTool {
  description: string;
  inputSchema: PassingSchema;
  execute(given: JsonObject, options: { abortSignal?: AbortSignal | undefined }): Promise<string>;
}

/** Options of `generateText`, `streamText` and agents of the AI SDK (package `ai`, version 6). */
export interface AiSdkOptions {
  tools: Record<string, AiSdkTool>;
  /** Stops at the end of the episode. Throws the failure of the episode, which rejects the generation. */
  stopWhen: () => boolean;
}

/**
 * Converts the tools of a session for the AI SDK.
 * @example const { text } = await generateText({ model, prompt, ...toAiSdk(episode) });
 */
export function toAiSdk(episode: AgentEpisode): AiSdkOptions {
  const tools = episode.tools.map(({ name, description, inputSchema }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: toPassingSchema(inputSchema),
      execute: (given, { abortSignal: signal }) => episode.call(name, given, { signal }),
    },
  ]);
  return { tools: Object.fromEntries(tools), stopWhen: () => episode.isOver() };
}

function toPassingSchema(schema: JsonObject): PassingSchema {
  return {
    "~standard": {
      version: 1,
      vendor: "openenv",
      validate: (value) => ({ value: value as JsonObject }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
