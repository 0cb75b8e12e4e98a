import type { EnvironmentDefinition } from "openenv-ts";
import { readJsonl, serve } from "openenv-ts/server";

export const start = (environment: EnvironmentDefinition) => serve(environment, { port: 0 });
export const server = await start({} as never);
export const capacity = server.capacity();
export const sessions = await server.sessions();
export const tasks = readJsonl("tasks.jsonl");
