import { prepareSandbox } from "../sandbox/sandbox.js";
import { defineCoding } from "./coding-environment.js";
import { readConfig } from "./config.js";

const config = readConfig(process.env);
// Here, so that a server that cannot isolate programs does not start.
const sandbox = await prepareSandbox(config);
if (sandbox.warning) console.warn(`coding_env: ${sandbox.warning}`);

export default defineCoding(sandbox, config.limits.timeoutSeconds);
