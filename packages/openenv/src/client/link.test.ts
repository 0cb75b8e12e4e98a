import { expect, test } from "vitest";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import { handleOf } from "../server/access/session-handle.js";
import { connectVector } from "./vector/connect-vector.js";

const { start, open } = useServers();
const LINK = /^http:\/\/[\w.:]+\/web\/#\/session\/[\w-]{12}$/;

test.each([false, true])(
  "results name the page of their session by a handle that is not its id; resume %s",
  async (resume) => {
    const server = await start();
    await using env = await connect(server.url, counterContract, { resume });
    const { url } = await env.reset();
    expect(url).toMatch(LINK);
    expect(await env.step({ amount: 1 })).toMatchObject({ url });
    const [session] = await server.sessions();
    expect(url).toBe(`${server.url}/web/#/session/${handleOf({ id: String(session?.session_id) })}`);
    expect(url).not.toContain(session?.session_id.slice(0, 8));
  },
);

test.each([false, true])(
  "sessions of a batch have the handle of their socket with their number; resume %s",
  async (resume) => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 3, resume });
    const urls = (await envs.reset()).map((result) => String(result?.url));
    for (const [index, url] of urls.entries()) expect(url).toMatch(new RegExp(`/web/#/session/[\\w-]{12}\\.${index}$`));
    const again = await envs.step([{ amount: 1 }, { amount: 1 }, { amount: 1 }]);
    expect(again.map((result) => String(result?.url))).toEqual(urls);
  },
);

test("the link of a session by address does not have its name", async () => {
  const server = await start();
  await using env = await connect(`${server.url}/session/a-long-secret-name`, counterContract);
  expect((await env.reset()).url).toMatch(LINK);
});

test("other clients get the frames that they had", async () => {
  const socket = await open(await start(), "/ws?openenv=warnings");
  expect(await socket.ask({ type: "state" })).toHaveProperty("openenv", { extensions: ["warnings"] });
  const stock = await open(await start());
  expect(await stock.ask({ type: "state" })).not.toHaveProperty("openenv");
});
