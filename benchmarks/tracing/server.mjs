/** `node server.mjs off|on`: the echo environment, without and with the plugin for OpenTelemetry. */
import otel from "@openenv-ts/otel";
import { serve } from "openenv-ts/server";
import { echo } from "../controls/echo.mjs";
import { ready } from "../controls/ready.mjs";

const plugins = process.argv[2] === "on" ? [otel] : [];
const server = await serve(echo(), { port: 0, maxConcurrentEnvs: 1_000, handleSignals: true, plugins });
ready(server.port);
