import { describe, expect, test } from "vitest";
import * as z from "zod";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { tasked } from "../../../../test-support/environments/words.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();

interface Described {
  responses: { 200: { content: Record<string, { schema: object }> } };
  requestBody?: { content: Record<string, { schema: object }> };
}
interface Api {
  paths: Record<string, { get?: Described; post?: Described; parameters?: { name: string; required: boolean }[] }>;
}

async function describeServer(url: string): Promise<Api> {
  return (await fetch(`${url}/openapi.json`)).json() as Promise<Api>;
}

/** In the order of a session. The body of the one that needs a session is sent with it. */
const ORS = {
  "/version": undefined,
  "/create_session": {},
  "/create": { split: "train", index: 0 },
  "/ping": undefined,
  "/{env_name}/tools": undefined,
  "/{env_name}/task_tools": undefined,
  "/{env_name}/prompt": undefined,
  "/{env_name}/call": { name: "step", input: { amount: 1 } },
  "/delete_session": undefined,
  "/delete": undefined,
};

describe("/openapi.json of a server with the gateway", () => {
  test("lists every route of ORS, and each request and answer is as it says", async () => {
    const server = await servers.start({}, defineCounter());
    const api = await describeServer(server.url);
    const ors = orsClient(server.url);
    const listed = Object.keys(api.paths).filter((path) => JSON.stringify(api.paths[path]).includes('"ORS"'));
    expect(listed.sort()).toEqual(Object.keys(ORS).sort());
    const id = await ors.newId();
    for (const [path, body] of Object.entries(ORS)) {
      const { get, post, parameters = [] } = api.paths[path] ?? {};
      const { responses, requestBody } = (get ?? post) as Described;
      const isOfSession = parameters.some(({ name, required }) => name === "x-session-id" && required);
      expect(requestBody !== undefined, path).toBe(body !== undefined);
      if (body) expectFits(body, requestBody?.content["application/json"]?.schema, path);
      const real = path.replace("{env_name}", "counter_env");
      const answer = await ors.request(get ? "GET" : "POST", real, { ...(isOfSession && { id }), body });
      expect(answer.status, path).toBe(200);
      const [[type, { schema }] = ["", { schema: {} }]] = Object.entries(responses[200].content);
      expect(answer.headers.get("content-type"), path).toContain(type);
      const given = type === "text/event-stream" ? answer.text : answer.json;
      expectFits(given, schema, path);
      // Those that need a session refuse a request without its header.
      if (isOfSession) expect((await ors.request(get ? "GET" : "POST", real, { body })).status, path).toBe(400);
    }
  });

  test("says which routes answer clients of ORS in their own way, as described", async () => {
    const server = await servers.start({}, { environment: tasked() as never });
    const { paths } = await describeServer(server.url);
    const shared = Object.keys(paths).filter((path) =>
      paths[path]?.parameters?.some(({ name, required }) => name === "x-session-id" && !required),
    );
    const task = ["num_tasks", "splits", "task", "task_range", "tasks"].map((name) => `/{env_name}/${name}`);
    expect(shared.sort()).toEqual(["/list_environments", ...task]);
  });

  test("is the page /docs, too, and production has none of it", async () => {
    const server = await servers.start({}, defineCounter());
    const page = await (await fetch(`${server.url}/docs`)).text();
    for (const path of Object.keys(ORS)) expect(page).toContain(`data-path="${path}"`);
    const production = await servers.start({ mode: "production" }, defineCounter());
    expect(JSON.stringify(await describeServer(production.url))).not.toMatch(/x-session-id|"ORS"/);
    expect((await fetch(`${production.url}/version`)).status).toBe(404);
  });
});

function expectFits(value: unknown, schema: object | undefined, path: string): void {
  const checked = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(value);
  expect(checked.error?.issues ?? [], path).toEqual([]);
}
