import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../../test-support/servers/servers.js";
import { createTasks, defineContract, defineEnvironment } from "../../../index.js";
import type { ServeOptions } from "../../types.js";

const { start } = useServers();

async function get(options: ServeOptions, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const server = await start(options);
  return await fetch(server.url + path, { redirect: "manual", headers });
}

describe("the web interface", () => {
  test.each(["/", "/web", "/?x=1", "/web?x=1"])("%s leads to the page, below whatever prefix", async (path) => {
    const response = await get({}, path);
    expect(response.status).toBe(307);
    // From /prefix/ and from /prefix/web this is /prefix/web/.
    expect(response.headers.get("location")).toBe("web/");
  });

  test.each<[ServeOptions, number]>([
    [{}, 307],
    [{ webInterface: "auto" }, 307],
    [{ webInterface: false }, 404],
    [{ mode: "production" }, 404],
    [{ mode: "production", webInterface: "auto" }, 404],
    [{ mode: "production", webInterface: true }, 307],
  ])("is there by mode and option: %o answers %i", async (options, status) => {
    const server = await start(options);
    for (const path of ["/", "/web"]) {
      expect((await fetch(server.url + path, { redirect: "manual" })).status).toBe(status);
    }
    const { status: told } = await fetch(`${server.url}/web/info`);
    expect(told).toBe(status === 307 ? 200 : 404);
  });

  test.each([
    ["true", "production", true],
    ["YES", "production", true],
    ["1", "production", true],
    ["auto", "production", false],
    ["", "simulation", true],
    ["auto", "simulation", true],
    ["False", "simulation", false],
    ["0", "simulation", false],
    ["no", "simulation", false],
  ] as const)("ENABLE_WEB_INTERFACE=%s in %s mode: %s", async (value, mode, isOn) => {
    process.env["ENABLE_WEB_INTERFACE"] = value;
    try {
      expect((await get({ mode }, "/web")).status).toBe(isOn ? 307 : 404);
      expect((await get({ mode, webInterface: !isOn }, "/web")).status).toBe(isOn ? 404 : 307);
    } finally {
      delete process.env["ENABLE_WEB_INTERFACE"];
    }
  });

  test("does not start with a variable that means nothing", async () => {
    process.env["ENABLE_WEB_INTERFACE"] = "maybe";
    try {
      await expect(start()).rejects.toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringContaining("ENABLE_WEB_INTERFACE must be one of auto, true, false"),
      });
    } finally {
      delete process.env["ENABLE_WEB_INTERFACE"];
    }
  });

  test("sends a policy that allows only its own scripts, and no framing", async () => {
    const { headers } = await get({}, "/web/");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;/);
    expect(policy).toContain("base-uri 'none'");
    expect(policy).toMatch(/frame-ancestors 'self'$/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("may be framed by the hub on a Space", async () => {
    process.env["SPACE_ID"] = "someone/counter";
    try {
      const server = await start();
      const { headers } = await fetch(`${server.url}/web/`);
      expect(headers.get("content-security-policy")).toMatch(/frame-ancestors 'self' https:\/\/huggingface\.co$/);
      expect(await (await fetch(`${server.url}/web/info`)).json()).toMatchObject({ space_id: "someone/counter" });
    } finally {
      delete process.env["SPACE_ID"];
    }
  });

  test.each([
    "/web/../health",
    "/web/%2e%2e/%2e%2e/package.json",
    "/web/assets/..%2f..%2fserver/index.js",
    "/web/nope",
  ])("%s does not leave its folder", async (path) => {
    const server = await start();
    const url = new URL(server.url);
    // fetch would resolve the dots itself.
    const { request } = await import("node:http");
    const status = await new Promise((resolve, reject) => {
      const asked = request({ host: url.hostname, port: url.port, path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on("error", reject).end();
    });
    expect(status).toBe(404);
  });
});

describe("what the page asks at its start", () => {
  const rich = defineEnvironment(
    defineContract({
      name: "rich_env",
      version: "2.1.0",
      description: "Has all there is.",
      action: z.object({ go: z.boolean() }),
      observation: z.object({}),
      reset: z.object({ level: z.int().min(1).max(9).default(1).describe("How hard"), name: z.string() }),
      tools: { look: { description: "Looks around." } },
    }),
    () => ({
      reset: () => ({ observation: {} }),
      step: () => ({ observation: {} }),
      tools: { look: () => null },
    }),
    { tasks: createTasks({ train: [{ goal: 1 }] }), author: "Somebody", readme: "# Rich", stepBeforeReset: "allow" },
  );

  test("returns the environment, the options of reset and the rights of the caller", async () => {
    const server = await start({ maxConcurrentEnvs: 3 }, { environment: rich });
    const response = await fetch(`${server.url}/web/info`);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual({
      server_version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      mode: "simulation",
      guarded: false,
      name: "rich_env",
      description: "Has all there is.",
      version: "2.1.0",
      author: "Somebody",
      documentation_url: null,
      readme: "# Rich",
      tools: true,
      tools_only: false,
      tasks: true,
      reset_options: {
        type: "object",
        properties: {
          level: { default: 1, description: "How hard", maximum: 9, minimum: 1, title: "Level", type: "integer" },
          name: { title: "Name", type: "string" },
        },
        required: ["name"],
      },
      fork_problem: null,
      step_before_reset: true,
      capacity: { active_sessions: 0, max_sessions: 3, available_slots: 3, is_at_capacity: false },
      max_message_bytes: 16 * 1024 * 1024,
      report: false,
      rollouts: false,
      has_operator: false,
      is_operator: false,
      space_id: null,
    });
  });

  test("leaves out what a plain environment has not", async () => {
    const server = await start(
      {},
      {
        environment: defineEnvironment(
          defineContract({ name: "plain_env", action: z.object({}), observation: z.object({}) }),
          () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }),
        ),
      },
    );
    expect(await (await fetch(`${server.url}/web/info`)).json()).toMatchObject({
      readme: null,
      tools: false,
      tasks: false,
      reset_options: null,
      step_before_reset: false,
    });
  });

  test("says whether there is an operator, and whether the request is that of one", async () => {
    const read = async (options: ServeOptions, headers = {}) => (await get(options, "/web/info", headers)).json();
    expect(await read({})).toMatchObject({ has_operator: false, is_operator: false });
    const options = { operatorToken: "letmein" };
    expect(await read(options)).toMatchObject({ has_operator: true, is_operator: false });
    const headers = { authorization: "Bearer letmein" };
    expect(await read(options, headers)).toMatchObject({ has_operator: true, is_operator: true });
    const guarded = await get({ mode: "production", webInterface: true, orchestratorToken: "drive" }, "/web/info");
    expect(await guarded.json()).toMatchObject({ guarded: true, mode: "production" });
  });

  test("has the report that an option names, and starts with no other file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-report-"));
    const [report, wrong] = [join(folder, "report.json"), join(folder, "wrong.json")];
    const body = { verdict: "pass", results: [{ check_id: "static.manifest", status: "pass" }] };
    await writeFile(report, JSON.stringify(body));
    await writeFile(wrong, '{"results": 1}');
    const server = await start({ reportPath: report });
    expect(await (await fetch(`${server.url}/web/info`)).json()).toMatchObject({ report: true });
    expect(await (await fetch(`${server.url}/web/report`)).json()).toEqual(body);
    expect((await get({}, "/web/report")).status).toBe(404);
    await expect(start({ reportPath: wrong })).rejects.toThrow(
      `ENV_REPORT_PATH (${wrong}) must name a report of openenv validate: it has no results and no verdict`,
    );
    await rm(folder, { recursive: true });
  });

  test("has the README that a variable or an option names, before the environment's own", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-readme-"));
    const [a, b] = [join(folder, "a.md"), join(folder, "b.md")];
    await writeFile(a, "# From a variable");
    await writeFile(b, "# From an option");
    process.env["ENV_README_PATH"] = a;
    try {
      const shown = async (options: ServeOptions) => {
        const server = await start(options, { environment: rich });
        const { readme } = (await (await fetch(`${server.url}/web/info`)).json()) as { readme: string };
        const { readme_content } = (await (await fetch(`${server.url}/web/metadata`)).json()) as {
          readme_content: string;
        };
        expect(readme_content).toBe(readme);
        return readme;
      };
      expect(await shown({})).toBe("# From a variable");
      expect(await shown({ readmePath: b })).toBe("# From an option");
      process.env["ENV_README_PATH"] = join(folder, "none.md");
      await expect(start()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    } finally {
      delete process.env["ENV_README_PATH"];
      await rm(folder, { recursive: true });
    }
  });
});
