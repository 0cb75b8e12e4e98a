import { connectSync } from "openenv-ts/sync";

export const env = connectSync("http://localhost:8000");
export const result = env.reset();
export const outcome = env.tryStep({});
export const state = env.state();
export const metadata = env.metadata();
export const { tasks, tools } = env;
export const splits = tasks.splits();
