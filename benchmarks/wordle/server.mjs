/** `node server.mjs`: envs/wordle as it is served. */
import { serve } from "openenv-ts/server";
import environment from "../../envs/wordle/dist/server/environment.js";
import { ready } from "../controls/ready.mjs";

const server = await serve(environment, { port: 0, maxConcurrentEnvs: 1_000, handleSignals: true });
ready(server.port);
