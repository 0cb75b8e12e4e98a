import { serve } from "openenv-ts/server";
import environment from "./environment.js";

/** The server of the image. Its settings are environment variables: HOST, PORT, WORKERS, MAX_CONCURRENT_ENVS and others. */
const server = await serve(environment, { handleSignals: true, supervise: true });
if (server.role !== "worker") console.log(`incident_env at ${server.url}`);
