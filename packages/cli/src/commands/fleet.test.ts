import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { callCommand, createProject } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { startForeignServer } from "../../../../test-support/other-servers/foreign-server.js";
import { startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const cwd = import.meta.dirname;

const fleet = (name: string, urls: readonly string[], ...more: string[]) =>
  callCommand(["fleet", name, ...urls.flatMap((url) => ["--url", url]), ...more], {
    cwd,
    env: { OPENENV_TOKEN: OPERATOR_TOKEN },
  });

async function rowsOf(name: string, urls: readonly string[], ...more: string[]) {
  const { code, stdout, stderr } = await fleet(name, urls, "--json", ...more);
  return { code, rows: JSON.parse(stdout) as Record<string, unknown>[], stderr };
}

/** The path of a topology file with this text. */
async function topology(text: string): Promise<string> {
  const project = await createProject({ "topology.yaml": text });
  onTestFinished(() => project[Symbol.asyncDispose]());
  return `${project.dir}/topology.yaml`;
}

describe("openenv fleet status", () => {
  test("has a row for each server, in both modes", async () => {
    const one = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 5 });
    const two = await start({ ...WITH_OPERATOR, mode: "production", journal: "memory", maxConcurrentEnvs: 7 });
    await (await open(one)).ask(RESET);
    const { code, stdout, stderr } = await fleet("status", [one.url, two.url, `${one.url}/`]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^URL +ENVIRONMENT +SERVER +SESSIONS +WAITING +JOURNAL +STATE +SLOWEST/);
    expect(lines[1]).toMatch(new RegExp(`^${one.url} +counter_env 1\\.0\\.0 +\\S+ +1/5 +0 +off +healthy +-`));
    expect(lines[2]).toMatch(new RegExp(`^${two.url} +counter_env 1\\.0\\.0 +\\S+ +0/7 +0 +ok +healthy +-`));
    expect([code, lines.length, stderr]).toEqual([0, 3, ""]);
  });

  test("names each server that does not answer or refuses, and shows the others", async () => {
    const port = await findFreePort();
    const other = createServer((_, response) => response.end("<h1>hello</h1>"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    await using python = await startForeignServer();
    const good = await start(WITH_OPERATOR);
    const urls = {
      dead: `http://127.0.0.1:${port}`,
      guarded: (await start({ operatorToken: "another" })).url,
      ownerless: (await start()).url,
      page: `http://127.0.0.1:${(other.address() as AddressInfo).port}/shop`,
      python: python.url,
    };
    const { code, rows, stderr } = await rowsOf("status", [...Object.values(urls), good.url]);
    expect(code).toBe(1);
    expect(rows.slice(0, 5)).toEqual(
      [
        [urls.dead, "CONNECTION_FAILED", "Is the server running?"],
        [urls.guarded, "UNAUTHORIZED", "sends the token in OPENENV_TOKEN"],
        [urls.ownerless, "UNAUTHORIZED", "this server has no operator"],
        [urls.page, "PROTOCOL_ERROR", `${urls.page} is not a server of openenv-ts`],
        [urls.python, "PROTOCOL_ERROR", `${urls.python} is not a server of openenv-ts`],
      ].map(([url, code, message]) => ({
        url,
        problems: [code],
        error: { code, message: expect.stringContaining(message as string) },
      })),
    );
    expect(rows[5]).toMatchObject({ url: good.url, problems: [] });
    const errors = stderr.trimEnd().split("\n");
    for (const [nth, url] of Object.values(urls).entries()) expect(errors[nth]).toContain(url);
    expect(stderr).not.toContain(OPERATOR_TOKEN);
  });

  test("shows the session whose call is slow, without its whole id", async () => {
    const server = await start(WITH_OPERATOR);
    const [idle, socket] = [await open(server), await open(server)];
    for (const one of [idle, socket]) await one.ask(RESET);
    await socket.ask({ type: "step", data: { amount: 1 } });
    socket.send({ type: "step", data: { amount: 60 } });
    const slowest = async () => (await rowsOf("status", [server.url])).rows[0]?.["slowest"];
    await expect.poll(slowest, { timeout: 20_000 }).not.toBe(null);
    expect(await slowest()).toMatchObject({
      session_id: expect.stringMatching(/^.{8}$/),
      client: "websocket",
      step_count: 1,
    });
    expect((await fleet("status", [server.url])).stdout).toMatch(/healthy {2}\S{8} \d+ s in a call after step 1\n$/);
  });

  test("reads the addresses of a topology, from which the balancer is rendered", async () => {
    const [one, two] = [await start(WITH_OPERATOR), await start(WITH_OPERATOR)];
    const file = await topology(`backends: ["127.0.0.1:${one.port}", "127.0.0.1:${two.port}"]\n`);
    const { code, rows } = await rowsOf("status", [], "--topology", file);
    expect([code, rows.map(({ url }) => url)]).toEqual([0, [one.url, two.url]]);
    const render = ["deploy", "render", "--target", "haproxy", "--topology", file];
    expect((await callCommand(render, { cwd })).stdout).toContain(`server env2 127.0.0.1:${two.port}`);
  });

  const VIEW = {
    server_version: "0.0.9",
    name: "old\u001b[2Jenv",
    capacity: { active_sessions: 2, max_sessions: 4 },
    waiting: 1,
    silent_workers: [],
    sessions: [],
  };
  const serveView = (view: object) => startScriptedServer(() => {}, { "/web/server?sort=state&limit=1": view });

  test("shows what a server of another version reports, and says that it reports less", async () => {
    await using old = await serveView(VIEW);
    const { code, stdout, stderr } = await fleet("status", [old.url]);
    expect(stdout).toMatch(/old\\u001b\[2Jenv +0\.0\.9 +2\/4 +1 +- +healthy/);
    expect([code, stderr]).toEqual([0, `${old.url} runs openenv-ts 0.0.9, which does not report all columns.\n`]);
    const { rows } = await rowsOf("status", [old.url]);
    expect(rows[0]).not.toHaveProperty("paused");
    await using next = await serveView({ ...VIEW, capacity: "unlimited" });
    const failed = await fleet("status", [next.url]);
    expect(failed.stderr).toMatch(/not of this version: it reports the version 0\.0\.9, and capacity: /);
    expect(failed.code).toBe(1);
  });

  test("a journal that is unavailable and a silent worker are not healthy", async () => {
    await using away = await serveView({ ...VIEW, paused: false, journal: "unavailable", silent_workers: [{}] });
    const { code, stdout } = await fleet("status", [away.url]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("journal unavailable, silent workers: 1")]);
  });
});

describe("openenv fleet drain and resume", () => {
  test("waits for a live session and for a client in the queue, and opens sessions again", async () => {
    const [busy, idle] = [
      await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1 }),
      await start(WITH_OPERATOR),
    ];
    const urls = [busy.url, idle.url];
    const socket = await open(busy);
    await socket.ask(RESET);
    const waiting = await open(busy);
    waiting.send(RESET);
    await expect.poll(async () => (await rowsOf("status", [busy.url])).rows[0]?.["waiting"]).toBe(1);
    const late = await fleet("drain", urls, "--timeout", "0");
    expect(late.code).toBe(3);
    expect(late.stderr).toBe(`error: ${busy.url} is not drained after 0 s, in use: 2.\n`);
    expect(await rowsOf("status", urls)).toMatchObject({ code: 1, rows: [{ paused: true }, { paused: true }] });
    expect(await (await open(idle)).receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
    const drained = rowsOf("drain", urls);
    expect(await socket.ask({ type: "step", data: { amount: 1 } })).toMatchObject({ type: "observation" });
    waiting.ws.terminate();
    socket.ws.terminate();
    expect(await drained).toMatchObject({
      code: 0,
      rows: [
        { in_use: 0, paused: true },
        { in_use: 0, paused: true },
      ],
    });
    expect(await rowsOf("resume", urls)).toMatchObject({ code: 0, rows: [{ problems: [] }, { problems: [] }] });
    expect(await (await open(idle)).ask(RESET)).toMatchObject({ type: "observation" });
  });

  test("drains the servers that answer although others do not", async () => {
    const [good, guarded] = [await start(WITH_OPERATOR), await start({ operatorToken: "another" })];
    const { code, rows } = await rowsOf("drain", [good.url, guarded.url, `http://127.0.0.1:${await findFreePort()}`]);
    expect(code).toBe(1);
    expect(rows).toMatchObject([
      { paused: true },
      { error: { code: "UNAUTHORIZED" } },
      { error: { code: "CONNECTION_FAILED" } },
    ]);
    expect((await fetch(`${guarded.url}/health`)).status).toBe(200);
  });

  test("reports a server that opens sessions again while it waits", async () => {
    const server = await start(WITH_OPERATOR);
    await (await open(server)).ask(RESET);
    const drained = fleet("drain", [server.url]);
    await expect.poll(async () => (await fetch(`${server.url}/health`)).status).toBe(503);
    await fetchAsOperator(`${server.url}/sessions/resume`, {}, "POST");
    const { code, stderr } = await drained;
    expect([code, stderr]).toEqual([1, `error: ${server.url} opens sessions again: it was restarted or resumed.\n`]);
  });

  test("a server that is about to stop is shown as draining and cannot be resumed", async () => {
    const server = await start({ ...WITH_OPERATOR, drainMs: 20_000 });
    const socket = await open(server);
    await socket.ask(RESET);
    const stopped = server.drain();
    expect(await rowsOf("status", [server.url])).toMatchObject({ code: 1, rows: [{ draining: true, paused: false }] });
    expect(await rowsOf("resume", [server.url])).toMatchObject({ code: 1, rows: [{ problems: ["draining"] }] });
    expect((await fleet("drain", [server.url], "--timeout", "0")).code).toBe(3);
    socket.ws.terminate();
    await server.close();
    await stopped;
  });
});

describe("openenv fleet with a usage error", () => {
  test.each([
    [["status"], /No servers: pass --url for each, or --topology/],
    [["status", "--url", "ftp://10.0.0.5"], /"ftp:\/\/10\.0\.0\.5" is not the URL of a server/],
    [["drain", "--url", "http://user:secret@10.0.0.5"], /must not contain a user name or password/],
    [["status", "--topology", "none.yaml"], /No topology file at none\.yaml/],
    [["drain", "--url", "http://a", "--timeout", "-1"], /a number of seconds from 0 to 604800/],
    [["stop"], /unknown command 'stop'/],
  ])("%j ends with 2 and one line", async (args, message) => {
    const { code, stdout, stderr } = await callCommand(["fleet", ...args], { cwd });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect([code, stdout]).toEqual([2, ""]);
  });

  test("a topology without addresses, or with a wrong one, is named", async () => {
    const none = await topology("image: echo:1\nnodes: 3\n");
    const without = await fleet("status", [], "--topology", none);
    expect(without).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${none} has no addresses: add the key backends`),
    });
    const wrong = await fleet("status", [], "--topology", await topology("backends: [10.0.0.5]\n"));
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("backends.0: must be host:port") });
  });
});
