import { expect, test } from "vitest";
import * as z from "zod";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { connect } from "../client/index.js";
import { defineContract, defineEnvironment } from "../index.js";
import { serve } from "../serve.js";

const contract = defineContract({
  name: "strict_env",
  action: z.object({}),
  observation: z.object({ level: z.int() }),
  reset: z.strictObject({ level: z.int().default(1) }),
});
const environment = defineEnvironment(contract, () => ({
  reset: ({ level }) => ({ observation: { level } }),
  step: () => ({ observation: { level: 0 } }),
}));
const options = { port: 0, logLevel: "silent" } as const;
const MEANT = 'Unknown field. Did you mean "seed"?';

test("an undeclared reset option is refused on every transport if the schema is strict, and the session continues", async () => {
  await using server = await serve(environment, options);
  await using socket = await openTestSocket(`${server.url}/ws`);
  expect(await socket.ask({ type: "reset", data: { sed: 3 } })).toMatchObject({
    type: "error",
    data: { code: "VALIDATION_ERROR", errors: [{ type: "extra_forbidden", loc: ["data", "sed"], msg: MEANT }] },
  });
  expect(await socket.ask({ type: "reset", data: { seed: 3, level: 2 } })).toMatchObject({
    data: { observation: { level: 2 } },
  });
  const headers = { "content-type": "application/json" };
  const post = (body: object) => fetch(`${server.url}/reset`, { method: "POST", headers, body: JSON.stringify(body) });
  const refused = await post({ sed: 3 });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ detail: [{ loc: ["body", "sed"], msg: MEANT }] });
  // A client may send a `request_id` with each request: it is not an option.
  expect((await post({ request_id: "a", seed: 1, episode_id: "e" })).status).toBe(200);
  await using batch = await openTestSocket(`${server.url}/ws?openenv=batch`);
  await batch.ask({ type: "open_many", data: { count: 1 } });
  expect(await batch.ask({ type: "reset_many", data: { items: [{ session: 0, data: { sed: 3 } }] } })).toMatchObject({
    data: { items: [{ type: "error", data: { code: "VALIDATION_ERROR" } }] },
  });
});

test("a client without the contract gets the name in its error; one with the contract sends nothing", async () => {
  await using server = await serve(environment, options);
  await using generic = await connect(server.url);
  await expect(generic.reset({ sed: 3 })).rejects.toThrow(MEANT);
  expect((await generic.reset({ level: 3, seed: 1 })).observation).toEqual({ level: 3 });
  await using typed = await connect(server.url, contract);
  await expect(typed.reset({ sed: 3 } as never)).rejects.toThrow(/nothing was sent: .*"sed"/);
  expect((await typed.reset({ level: 3, seed: 1, episodeId: "e" })).observation).toEqual({ level: 3 });
});
