import { describe, expect, test, vi } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { definePlugin, type PluginHooks } from "./index.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const inSessions = (hooks: PluginHooks) => definePlugin({ name: "audit", session: () => hooks });

test("an event whose session ends meanwhile is recorded, after ended()", async () => {
  const seen: string[] = [];
  const audit = inSessions({
    record: ({ event, type, answer }) => void seen.push(`${event} ${type} ${"type" in answer ? answer.type : "tool"}`),
    ended: () => void seen.push("ended"),
  });
  const counter = defineCounter();
  const server = await start({ plugins: [audit] }, counter);
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  // It answers when the session ends.
  socket.send({ type: "step", data: { amount: 60 } });
  await expect.poll(() => counter.log.begun).toBe(1);
  socket.ws.terminate();
  await expect.poll(() => seen).toEqual(["1 reset observation", "ended", "2 step error"]);
});

describe("a tool call", () => {
  const call = async (hooks: PluginHooks) => {
    const { url } = await start({ plugins: [inSessions(hooks)] }, defineDesk());
    const ask = async (method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const headers = { "content-type": "application/json" };
      return (await (await fetch(`${url}/mcp`, { method: "POST", headers, body })).json()) as {
        result: { session_id: string };
        error: { message: string; data: object };
      };
    };
    const { session_id } = (await ask("openenv/session/create", {})).result;
    return (await ask("tools/call", { name: "add", arguments: { a: 1 }, session_id })).error;
  };

  test("that a plugin refuses has the code of the refusal and its fault", async () => {
    const refused = await call({ around: () => ({ code: "FORBIDDEN", message: "not this tool" }) });
    expect(refused).toMatchObject({ message: "not this tool", data: { code: "FORBIDDEN", fault: "client" } });
  });

  test("that must be recorded, and cannot be, has the code of a lost session", async () => {
    const record = (): never => {
      throw new Error("the plugin is broken");
    };
    const lost = await call({ mustRecord: true, record });
    expect(lost).toMatchObject({ data: { code: "SESSION_LOST", fault: "infrastructure" } });
  });
});
