/** The errors of a generated Python package with the released Python client, against our server. */
import { expect, test } from "vitest";
import * as z from "zod";
import { createPythonFolder } from "../../../../test-support/commands/python-package.js";
import { requirePython } from "../../../../test-support/requirement.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import { serve } from "../../../openenv/src/serve.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";

const python = await requirePython();
const TIME_LIMIT = { timeout: 300_000 };

const contract = defineContract({
  name: "frail_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});
const frail = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { count: 0 } }),
  step: ({ amount }) => {
    if (amount > 1) throw new Error("too much");
    return { observation: { count: amount } };
  },
}));

const script = (url: string): string => `
import asyncio, json
from frail_env import FrailAction, FrailEnv, RemoteError

def describe(error):
    return [error.code, error.wire_code, error.data["message"], str(error), isinstance(error, RuntimeError)]

def failure(call):
    try:
        call()
    except RemoteError as error:
        return describe(error)

client = FrailEnv(base_url="${url}")
with client.sync() as env:
    early = failure(lambda: env.step(FrailAction(amount=1)))
    env.reset()
    thrown = failure(lambda: env.step(FrailAction(amount=2)))
    after = env.step(FrailAction(amount=1)).observation.count
    refused = failure(lambda: FrailEnv(base_url="${url}").sync().reset())
    client._step_payload = lambda action: {"amount": "many"}
    invalid = failure(lambda: env.step(FrailAction(amount=1)))

async def awaited():
    async with FrailEnv(base_url="${url}") as env:
        try:
            await env.step(FrailAction(amount=1))
        except RemoteError as error:
            return describe(error)

print(json.dumps({
    "early": early, "thrown": thrown, "after": after, "refused": refused[:2], "invalid": invalid[:2],
    "awaited": asyncio.run(awaited()),
}))
`;

test.skipIf(!python.available)(
  "an error of the server is raised with its code, and a step before reset differs from an exception",
  TIME_LIMIT,
  async () => {
    await using server = await serve(frail, { port: 0, logLevel: "silent", maxConcurrentEnvs: 1 });
    const names = parseName("frail-env");
    const types = readTypes(contract.schemas(), names.prefix);
    await using folder = await createPythonFolder(renderPythonPackage(types, names, "openenv"));
    const message = "call reset first: this session has no episode to step in";
    const text = `Server error: ${message} (code: EXECUTION_ERROR)`;
    const early = ["NO_EPISODE", "EXECUTION_ERROR", message, text, true];
    expect(await folder.run(python.path, script(server.url))).toEqual({
      early,
      thrown: ["EXECUTION_ERROR", "EXECUTION_ERROR", ...Array.from({ length: 2 }, () => expect.any(String)), true],
      after: 1,
      refused: ["CAPACITY_REACHED", "CAPACITY_REACHED"],
      invalid: ["VALIDATION_ERROR", "VALIDATION_ERROR"],
      awaited: early,
    });
  },
);
