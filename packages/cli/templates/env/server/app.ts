import { serve } from "openenv-ts/server";
import environment from "./environment.js";

/** What an image runs. HOST, PORT, WORKERS, MAX_CONCURRENT_ENVS and the others are read from the environment. */
const server = await serve(environment, { handleSignals: true, supervise: true });
if (server.role !== "worker") console.log(`counter_game at ${server.url}`);
