import { describe, expect, it } from "vitest";
import { startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { createTaskClient } from "./tasks.js";
import { parseAddress } from "./transport/address.js";
import { createHttpClient } from "./transport/http.js";

const silent = (): void => {};
const clientOf = (url: string) =>
  createTaskClient(createHttpClient(parseAddress(url), { headers: {}, timeoutMs: 10_000 }));

describe("the task client", () => {
  it("requests the name of the environment once and uses it in every path", async () => {
    let asked = 0;
    await using server = await startScriptedServer(silent, {
      get "/p/list_environments?k=1"() {
        asked++;
        return ["My Env"];
      },
      "/p/My%20Env/num_tasks?k=1": { num_tasks: 3 },
      "/p/My%20Env/task_range?k=1": { tasks: [{ id: 1 }] },
    });
    const tasks = clientOf(`${server.url}/p?k=1`);
    expect(await tasks.count("train")).toBe(3);
    expect(await tasks.range("train", 1)).toEqual([{ id: 1 }]);
    expect(asked).toBe(1);
  });

  it("requests the name again after a failure", async () => {
    let ready = false;
    await using server = await startScriptedServer(silent, {
      get "/list_environments"() {
        return ready ? ["env"] : undefined;
      },
      "/env/splits": [],
    });
    const tasks = clientOf(server.url);
    await expect(tasks.splits()).rejects.toMatchObject({ code: "REQUEST_FAILED", details: { status: 404 } });
    ready = true;
    expect(await tasks.splits()).toEqual([]);
  });

  it("rejects an answer of another shape", async () => {
    await using server = await startScriptedServer(silent, { "/list_environments": ["env"], "/env/task": { id: 1 } });
    await expect(clientOf(server.url).get("train", 0)).rejects.toThrow('answer to task has no "task"');
    await using other = await startScriptedServer(silent, { "/list_environments": {} });
    await expect(clientOf(other.url).splits()).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
  });
});
