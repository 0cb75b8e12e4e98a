import { serve } from "openenv-ts/server";
import environment from "./environment.js";

const server = await serve(environment, { handleSignals: true, supervise: true });
console.log(`benchmark_env at ${server.url}`);
