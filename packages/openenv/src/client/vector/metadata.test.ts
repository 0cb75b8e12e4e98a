import { expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment } from "../../index.js";
import { connect, connectVector } from "../index.js";

const servers = useServers();
const contract = defineContract({
  name: "marks_env",
  action: z.object({ op: z.enum(["go", "cut", "fail", "own"]) }),
  observation: z.object({}),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: {} }),
  step: ({ op }) => {
    if (op === "fail") throw new Error("no");
    const metadata = op === "own" ? { group_id: "mine" } : { note: op };
    return { observation: {}, reward: 1, metadata, ...(op === "cut" && { done: true, truncated: true }) };
  },
}));

test("the metadata of each result have its group and the marks of what is truncated, failed or lost", async () => {
  const server = await servers.start({}, { environment });
  await using envs = await connectVector(server.url, contract, { size: 4 });
  const metadata = (results: readonly ({ metadata: object } | null)[]) => results.map((result) => result?.metadata);
  expect(metadata(await envs.reset())).toEqual([{}, {}, {}, {}]);
  expect(metadata(await envs.resetGroups([{ seed: 1 }, { seed: 2 }]))).toEqual(
    [0, 0, 1, 1].map((group_id) => ({ group_id })),
  );
  const ops = ["go", "cut", "fail", "own"] as const;
  expect(metadata(await envs.step(ops.map((op) => ({ op }))))).toEqual([
    { group_id: 0, note: "go" },
    { group_id: 0, note: "cut", truncated: true },
    { group_id: 1, error_code: "EXECUTION_ERROR", fault: "environment" },
    // The data of an environment are not replaced.
    { group_id: "mine" },
  ]);
  await server.close();
  const lost = await envs.step([{ op: "go" }, null, { op: "go" }, { op: "go" }]);
  expect(metadata(lost)).toEqual(
    [0, undefined, 1, 1].map((group_id) =>
      group_id === undefined
        ? undefined
        : { group_id, error_code: "SESSION_LOST", fault: "infrastructure", lost: true },
    ),
  );
  expect(lost.map((result) => result?.reward)).toEqual([null, undefined, null, null]);
});

test("the metadata of a single session's failed results have the marks, too", async () => {
  const server = await servers.start({}, { environment });
  await using env = await connect(server.url, contract);
  await env.reset();
  expect((await env.tryStep({ op: "fail" })).metadata).toEqual({ error_code: "EXECUTION_ERROR", fault: "environment" });
  await server.close();
  expect(await env.tryStep({ op: "go" })).toMatchObject({ metadata: { lost: true }, reward: null });
});
