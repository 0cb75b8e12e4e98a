import { expect, test } from "vitest";
import { rpc, useMcp } from "../../../../../test-support/environments/mcp.js";

const { start } = useMcp();

test("a created session is named in a header, too, for balancers that read no bodies", async () => {
  const { server } = await start();
  const ask = async (method: string) => {
    const body = JSON.stringify({ ...rpc, method });
    const response = await fetch(`${server.url}/mcp`, { method: "POST", body });
    return { header: response.headers.get("openenv-session"), answer: (await response.json()) as object };
  };
  const { header, answer } = await ask("openenv/session/create");
  expect(answer).toMatchObject({ result: { session_id: header } });
  expect((await ask("tools/list")).header).toBeNull();
});
