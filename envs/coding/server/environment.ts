import { defineEnvironment } from "openenv-ts";
import { coding } from "../models.js";
import { prepareSandbox } from "../sandbox/sandbox.js";
import { CodingEnvironment } from "./coding-environment.js";
import { readConfig } from "./config.js";

const config = readConfig(process.env);
const sandbox = await prepareSandbox(config);
if (sandbox.weakness) console.warn(`coding_env: ${sandbox.weakness}`);

export default defineEnvironment(coding, () => new CodingEnvironment(sandbox, config.limits.timeoutSeconds), {
  stepBeforeReset: "allow",
});
