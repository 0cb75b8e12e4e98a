import * as z from "zod";
import type { PublishedTool } from "../protocol/http.js";
import type { SchemaBody } from "../protocol/index.js";
import { type Contract, defineContract } from "./contract.js";
import { inputOf } from "./tools/tool-render.js";
import type { ToolDeclaration } from "./tools/tools.js";

/** What a server publishes about its environment. */
export interface PublishedContract {
  name: string;
  version?: string;
  description?: string;
  /** The body of `GET /schema`. A server of the Python package has no `reset_observation`. */
  schemas: Pick<SchemaBody, "action" | "observation" | "state"> & Partial<SchemaBody>;
  /** The tools, where they are not part of the schemas. */
  tools?: readonly PublishedTool[];
}

/**
 * A contract for serving an environment whose code is elsewhere: it has the JSON Schemas that the other server publishes,
 * and accepts any JSON object where that server validates. @throws OpenEnvError INVALID_TOOL like `defineTools`.
 */
export function proxyContract({ name, version, description, schemas, tools }: PublishedContract): Contract {
  const any = z.looseObject({});
  const published = schemas.tools ?? tools ?? [];
  const body: SchemaBody = {
    ...schemas,
    reset_observation: schemas.reset_observation ?? schemas.observation,
    ...(published.length > 0 && { tools: [...published] }),
  };
  const declared = Object.fromEntries(published.map((tool): [string, ToolDeclaration] => [tool.name, declare(tool)]));
  const parts = { action: any, observation: any, state: any, reset: any };
  const named = { name, ...(version && { version }), ...(description && { description }) };
  const contract: Contract = defineContract({ ...named, ...parts, tools: declared });
  return Object.assign(contract, { schemas: () => body });
}

function declare({ description, input_schema }: PublishedTool): ToolDeclaration {
  return { description: description || "No description.", input: inputOf(input_schema) };
}
