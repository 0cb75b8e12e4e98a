import { expect, test, vi } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { definePlugin, type SessionHandle } from "./index.js";

// Each starts a server, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();

test("end() has no effect before the environment of the session exists", async () => {
  const plugin = definePlugin({ name: "ends", session: (session) => session.end("too early") });
  const socket = await open(await start({ plugins: [plugin] }));
  expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });
});

test("a session has the principal of the peer that opened it, also while another peer uses it", async () => {
  const asked: string[] = [];
  let opened: SessionHandle | undefined;
  const plugin = definePlugin({
    name: "names",
    authorize({ headers }) {
      asked.push(String(headers["x-name"]));
      return { name: String(headers["x-name"]) };
    },
    session(session) {
      opened = session;
      return undefined;
    },
  });
  const { url } = await start({ plugins: [plugin] });
  for (const name of ["ada", "bob"]) {
    const headers = { "content-type": "application/json", "x-name": name };
    const { status } = await fetch(`${url}/session/a-name-that-both-know/reset`, {
      method: "POST",
      headers,
      body: "{}",
    });
    expect([status, opened?.principal?.name]).toEqual([200, "ada"]);
  }
  expect(asked).toEqual(["ada", "bob"]);
});
