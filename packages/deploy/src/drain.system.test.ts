import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createProject, type Project, startCommand } from "../../../test-support/commands/command-line.js";
import {
  MANY,
  openHttp,
  openOnBoth,
  stepHttp,
  TALLY,
  tallied,
} from "../../../test-support/deploy/balanced-sessions.js";
import { BALANCERS, startBalancer } from "../../../test-support/deploy/balancers.js";
import { useMcp } from "../../../test-support/environments/mcp.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../test-support/operator.js";
import { until, WHERE } from "../../../test-support/servers/cluster.js";
import { connect } from "../../openenv/src/connect.js";

const { start } = useMcp();
const STEPS = 10;
const PAUSE_MS = 50;

for (const [kind, { require }] of Object.entries(BALANCERS)) {
  const component = await require();
  const balance = (...ports: number[]) =>
    startBalancer(kind as keyof typeof BALANCERS, component.path, {
      backends: ports.map((port) => `127.0.0.1:${port}`),
    });

  describe.skipIf(!component.available)(`through ${kind}`, { timeout: 120_000 }, () => {
    test("no session is lost when each server is drained and replaced under load", async () => {
      await using project = await createProject({ "environment.mjs": WHERE });
      const ports = [await findFreePort(), await findFreePort()] as const;
      let servers = await Promise.all(ports.map((port) => startServer(project, port)));
      try {
        await using balancer = await balance(...ports);
        const load = startLoad(balancer.url);
        for (const port of ports) await until(async () => (await sessionsAt(port)) >= 2);
        for (const [index, port] of ports.entries()) {
          const old = servers[index] as (typeof servers)[number];
          old.process.kill("SIGTERM");
          expect(await old.exited).toBe(0);
          expect(old.stderr).not.toContain("did not finish");
          servers = servers.with(index, await startServer(project, port));
          await until(async () => (await sessionsAt(port)) >= 2);
        }
        const { episodes, lost } = await load.end();
        expect(lost).toEqual([]);
        expect(episodes).toBeGreaterThan(MANY);
      } finally {
        await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      }
    });

    test("HTTP sessions of a draining server continue, and new ones open on another server", async () => {
      const one = await start({ drainMs: 60_000 });
      const two = await start();
      await using balancer = await balance(one.server.port, two.server.port);
      const sessions = await openOnBoth({ one, two }, () => openHttp(balancer.url));
      const step = async (result: number): Promise<void> => {
        for (const { header } of sessions) {
          const answer = await stepHttp(balancer.url, { "openenv-session": header });
          expect(answer).toMatchObject({ status: 200, body: { observation: tallied(result) } });
        }
      };
      await step(1);
      const before = one.active();
      const drained = one.server.drain();
      expect((await fetch(`${one.server.url}/health`)).status).toBe(503);
      // The balancer has noticed, and the server accepts no new sessions any more.
      await sleep(12_000);
      await step(2);
      for (let count = 0; count < MANY; count++) {
        await using client = await connect(balancer.url);
        await client.reset();
        expect((await client.step(TALLY)).observation).toMatchObject(tallied(1));
        expect(one.active()).toBe(before);
      }
      await step(3);
      await one.server.close();
      await drained;
    });
  });
}

function startServer(project: Project, port: number) {
  const server = startCommand(["serve", "environment.mjs", "--port", String(port), "--workers", "2"], {
    cwd: project.dir,
    env: { SHUTDOWN_DRAIN: "30", ...OPERATOR_VARIABLES },
  });
  return server.printed(/at http:\S+/).then(() => server);
}

/** Plays episodes until it is stopped, each in its own session, half of them over HTTP. */
function startLoad(url: string) {
  let ended = false;
  let episodes = 0;
  const lost: string[] = [];
  const repeat = async (play: () => Promise<void>): Promise<void> => {
    while (!ended) {
      await play().then(
        () => episodes++,
        (error: unknown) => lost.push(String(error)),
      );
    }
  };
  const players = Array.from({ length: MANY }, (_, index) => repeat(() => (index % 2 ? playHttp(url) : play(url))));
  return {
    async end() {
      ended = true;
      await Promise.all(players);
      return { episodes, lost };
    },
  };
}

async function play(url: string): Promise<void> {
  await using client = await connect(url);
  await client.reset();
  for (let count = 1; count <= STEPS; count++) {
    await sleep(PAUSE_MS);
    expect((await client.step({ amount: 1 })).observation).toMatchObject({ count });
  }
}

async function playHttp(url: string): Promise<void> {
  const { header, cookie } = await openHttp(url);
  const named = { "openenv-session": header };
  for (let count = 1; count <= STEPS; count++) {
    await sleep(PAUSE_MS);
    const answer = await stepHttp(url, named, { amount: 1 });
    expect(answer).toMatchObject({ status: 200, body: { observation: { count } } });
  }
  // The header includes what a balancer may have added.
  const params = { session_id: /openenv_session_\d+=([^;]+)/.exec(cookie)?.[1] };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "openenv/session/close", params });
  const closed = await fetch(`${url}/mcp`, { method: "POST", headers: named, body });
  expect(await closed.json()).toMatchObject({ result: { closed: true } });
}

async function sessionsAt(port: number): Promise<number> {
  const response = await fetchAsOperator(`http://127.0.0.1:${port}/sessions`);
  return ((await response.json()) as { sessions: unknown[] }).sessions.length;
}
