import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { requirePromtool } from "../../../../../test-support/requirement.js";
import { useServers } from "../../../../../test-support/servers/servers.js";

const promtool = await requirePromtool();
const { start, open } = useServers();

test.skipIf(!promtool.available)("Prometheus reads what /metrics says, and has nothing to object to", async () => {
  const server = await start(WITH_OPERATOR);
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  for (const amount of [1, 13, 1_000]) await socket.ask({ type: "step", data: { amount } });
  const input = await (await fetchAsOperator(`${server.url}/metrics`)).text();
  const { status, stdout, stderr } = spawnSync(promtool.path, ["check", "metrics"], { input, encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
});
