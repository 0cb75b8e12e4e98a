import { describe, expect, test } from "vitest";
import type { ServerView } from "#core/protocol/web.js";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { openHttp, stepHttp } from "../../../test-support/deploy/balanced-sessions.js";
import { fetchAsOperator } from "../../../test-support/operator.js";
import {
  openAll,
  RESET,
  startCluster,
  step,
  until,
  untilAllKnow,
  WHERE,
} from "../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";

describe("several workers behind one address", { timeout: 180_000 }, () => {
  test("take every socket while one of them has room, and refuse the next with the counts of all", async () => {
    await using cluster = await startCluster({ WORKERS: "3", MAX_CONCURRENT_ENVS: "4" });
    const sessions = await openAll(cluster.url, 12);
    const perWorker = [...new Set(sessions.map(({ pid }) => pid))].map((pid) =>
      sessions.filter((one) => one.pid === pid),
    );
    expect(perWorker.map((list) => list.length)).toEqual([4, 4, 4]);
    await untilAllKnow(cluster.url, { active_sessions: 12, max_sessions: 12 });
    const refused = await openTestSocket(`${cluster.url}/ws`);
    expect(await refused.receive()).toMatchObject({
      data: { code: "CAPACITY_REACHED", active_sessions: 12, max_sessions: 12 },
    });
    expect((await refused.closed).code).toBe(1000);
    await sessions[0]?.socket[Symbol.asyncDispose]();
    await untilAllKnow(cluster.url, { active_sessions: 11 });
    expect(await openAll(cluster.url, 1)).toHaveLength(1);
  });

  test("let as many wait as all of them together may hold and queue, and refuse none", async () => {
    const capacity = 256;
    const variables = { WORKERS: "2", MAX_CONCURRENT_ENVS: String(capacity), QUEUE_SIZE: String(capacity) };
    await using cluster = await startCluster(variables);
    for (let burst = 0; burst < 3; burst++) {
      const codes = await Promise.all(
        Array.from({ length: 4 * capacity }, async () => {
          await using socket = await openTestSocket(`${cluster.url}/ws`);
          const { data } = (await socket.ask(RESET)) as { data: { code?: string } };
          if (data.code !== undefined) return data.code;
          await socket.ask(step(17));
          return "served";
        }),
      );
      expect(codes.filter((code) => code !== "served")).toEqual([]);
      await untilAllKnow(cluster.url, { active_sessions: 0 });
    }
  });

  test("give an HTTP session to whichever has room, before one that waits to be continued is ended", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "3" });
    const headers = { "content-type": "application/json", connection: "close" };
    const post = (path: string, body: object, session = "") =>
      fetch(cluster.url + path, {
        method: "POST",
        headers: { ...headers, ...(session && { "openenv-session": session }) },
        body: JSON.stringify(body),
      });
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) {
      ids.push((await post("/reset", { seed: i })).headers.get("openenv-session") ?? "none");
      await untilAllKnow(cluster.url, { active_sessions: i + 1 });
    }
    for (const id of ids) {
      const answer = await post("/step", { action: { amount: 1 } }, id);
      expect([id, await answer.json()]).toMatchObject([expect.stringMatching(/^w\d-/), { observation: { count: 1 } }]);
    }
  });

  test("create a session over POST /mcp while one of them has room, at any worker", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "3" });
    const create = async () => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "openenv/session/create", params: {} });
      const response = await fetch(`${cluster.url}/mcp`, { method: "POST", headers: { connection: "close" }, body });
      return (await response.json()) as Record<string, unknown>;
    };
    for (let i = 0; i < 6; i++) {
      expect(await create()).toMatchObject({ result: { session_id: expect.stringMatching(/^w\d-/) } });
      await untilAllKnow(cluster.url, { active_sessions: i + 1 });
    }
    expect(await create()).toMatchObject({ error: { code: -32000, data: { active_sessions: 6, max_sessions: 6 } } });
  });

  test("answer a session over HTTP, /mcp and an attached socket where it lives, at any worker", async () => {
    await using cluster = await startCluster({ WORKERS: "3" });
    const headers = { "content-type": "application/json", connection: "close" };
    const post = async (path: string, body: object, more: Record<string, string> = {}) => {
      const response = await fetch(cluster.url + path, {
        method: "POST",
        headers: { ...headers, ...more },
        body: JSON.stringify(body),
      });
      return { response, body: (await response.json()) as Record<string, unknown> };
    };
    const opened = await post("/reset", {});
    const id = opened.response.headers.get("openenv-session") ?? "";
    for (let count = 1; count <= 12; count++) {
      const { body } = await post("/step", { action: { amount: 1 } }, { "openenv-session": id });
      expect(body).toMatchObject({ observation: { count } });
    }
    const rpc = (method: string, params: object) => post("/mcp", { jsonrpc: "2.0", id: 1, method, params });
    const created = (await rpc("openenv/session/create", {})).body as unknown as { result: { session_id: string } };
    const session_id = created.result.session_id;
    for (let i = 0; i < 6; i++) {
      await until(async () => {
        const socket = await openTestSocket(`${cluster.url}/ws?session_id=${session_id}`);
        const answer = await socket.ask(i === 0 ? RESET : step(1));
        socket.send({ type: "close" });
        await socket.closed;
        // Its worker may not have heard yet that the socket before has closed.
        if (JSON.stringify(answer).includes("is attached to another socket")) return false;
        expect(answer).toMatchObject({ data: { observation: { count: i } } });
        return true;
      });
    }
    for (let i = 0; i < 6; i++) {
      const { body } = await rpc("tools/call", { name: "count", session_id });
      expect(body).toMatchObject({ result: { data: 5 } });
    }
    expect((await rpc("openenv/session/close", { session_id })).body).toMatchObject({ result: { closed: true } });
    expect((await rpc("tools/list", { session_id })).body).toMatchObject({ error: { code: -32602 } });
  });

  test("lose no frame of a socket that is passed on, however early it comes", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "128" });
    const sessions = await openAll(cluster.url, 256);
    expect(new Set(sessions.map(({ pid }) => pid)).size).toBe(2);
    const answers = await Promise.all(sessions.map(({ socket }) => socket.ask(step(1))));
    expect(answers.every((answer) => answer["type"] === "observation")).toBe(true);
    await Promise.all(sessions.map(({ socket }) => socket[Symbol.asyncDispose]()));
  });

  test.each([
    ["is killed", (pid: number) => process.kill(pid, "SIGKILL")],
    ["ends itself", undefined],
  ])("lose only the sessions of one that %s, and it is replaced", async (_how, kill) => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "5" });
    const sessions = await openAll(cluster.url, 10);
    const victim = sessions[0]?.pid as number;
    if (kill) kill(victim);
    else sessions[0]?.socket.send(step(13));
    for (const { socket, pid } of sessions) {
      if (pid === victim) await socket.closed;
      else expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
    }
    await untilAllKnow(cluster.url, { active_sessions: 5, max_sessions: 10 });
    expect(await openAll(cluster.url, 5)).toHaveLength(5);
  });

  test("replace one that hangs", async () => {
    await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "4" });
    const [stuck] = await openAll(cluster.url, 1);
    stuck?.socket.send(step(14));
    await stuck?.socket.closed;
    await until(async () => (await cluster.capacity()).active_sessions === 0);
    expect((await openAll(cluster.url, 4)).every(({ pid }) => pid !== stuck?.pid)).toBe(true);
  });

  test.each(["1", "2"])(
    "%s: are replaced one by one on SIGHUP, and no newcomer is refused meanwhile",
    async (workers) => {
      await using cluster = await startCluster({ WORKERS: workers, SHUTDOWN_GRACE: "5" });
      const before = await openAll(cluster.url, 4);
      const old = new Set(before.map(({ pid }) => pid));
      cluster.command.process.kill("SIGHUP");
      const closes = before.map(({ socket }) => socket.closed);
      let fresh = 0;
      await until(async () => {
        const [session] = await openAll(cluster.url, 1);
        if (session && !old.has(session.pid)) fresh++;
        await session?.socket[Symbol.asyncDispose]();
        return fresh > 10;
      });
      expect((await Promise.all(closes)).map(({ code }) => code)).toEqual([1012, 1012, 1012, 1012]);
    },
  );

  test("are as many as before after a second SIGHUP, though the first ones still have sessions", async () => {
    await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "4", SHUTDOWN_GRACE: "300" });
    const playing = await openAll(cluster.url, 4);
    // One of the workers may have none of these sessions.
    const seen = new Set<number>();
    await until(async () => {
      const view = (await (await fetchAsOperator(`${cluster.url}/web/server`)).json()) as ServerView;
      for (const { pid } of view.workers) seen.add(pid);
      return seen.size === 2;
    });
    for (const _ of ["first", "second"]) {
      const fresh = new Set<number>();
      cluster.command.process.kill("SIGHUP");
      const probes: TestSocket[] = [];
      // A worker may get every connection until it is full. While one is replaced, there may be no room.
      await until(async () => {
        const [probe] = await openAll(cluster.url, 1).catch(() => []);
        if (probe === undefined) return false;
        probes.push(probe.socket);
        if (seen.has(probe.pid)) await probe.socket[Symbol.asyncDispose]();
        else fresh.add(probe.pid);
        return fresh.size >= 2;
      });
      for (const socket of probes) await socket[Symbol.asyncDispose]();
      await untilAllKnow(cluster.url, { max_sessions: 8 });
      for (const pid of fresh) seen.add(pid);
    }
    // Those of the first workers have played on.
    for (const { socket } of playing) {
      expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
      await socket[Symbol.asyncDispose]();
    }
  });

  test("let HTTP sessions continue while they are replaced", async () => {
    await using cluster = await startCluster({ WORKERS: "2", SHUTDOWN_DRAIN: "60" });
    const opened = await Promise.all(Array.from({ length: 4 }, () => openHttp(cluster.url)));
    const step = async (session: string): Promise<number> => {
      const answer = await stepHttp(cluster.url, { "openenv-session": session, connection: "close" }, { amount: 1 });
      expect(answer).toMatchObject({ status: 200 });
      return (answer.body as { observation: { pid: number } }).observation.pid;
    };
    const before = await Promise.all(opened.map(({ header }) => step(header)));
    cluster.command.process.kill("SIGHUP");
    await until(async () => {
      const [session] = await openAll(cluster.url, 1);
      await session?.socket[Symbol.asyncDispose]();
      return session !== undefined && !before.includes(session.pid);
    });
    for (let i = 0; i < 10; i++) expect(await Promise.all(opened.map(({ header }) => step(header)))).toEqual(before);
    cluster.command.process.kill("SIGINT");
  });

  test("leave a SIGHUP that reaches them too to their supervisor", async () => {
    await using cluster = await startCluster({ WORKERS: "2" });
    const sessions = await openAll(cluster.url, 4);
    for (const pid of new Set(sessions.map(({ pid }) => pid))) process.kill(pid, "SIGHUP");
    for (const { socket } of sessions) {
      expect(await socket.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
    }
  });

  test("end with their supervisor, cleanly by SIGTERM and at once when it is killed", async () => {
    const cluster = await startCluster({ WORKERS: "2" });
    const sessions = await openAll(cluster.url, 6);
    const pids = [...new Set(sessions.map(({ pid }) => pid))];
    cluster.command.process.kill("SIGTERM");
    expect((await sessions[0]?.socket.closed)?.code).toBe(1012);
    expect(await cluster.command.exited).toBe(0);
    await until(() => pids.every((pid) => !isAlive(pid)));
    await cluster[Symbol.asyncDispose]();

    const other = await startCluster({ WORKERS: "2" });
    const workers = [...new Set((await openAll(other.url, 6)).map(({ pid }) => pid))];
    other.command.process.kill("SIGKILL");
    await until(() => workers.every((pid) => !isAlive(pid)));
    await other[Symbol.asyncDispose]();
  });

  test("start one session each where the environment cannot run twice in a process", async () => {
    const project = await createProject({ "environment.mjs": WHERE.replace("\n});\n`", "") });
    await project.write(
      "environment.mjs",
      WHERE.trimEnd().replace(/\}\);$/, "}, { supportsConcurrentSessions: false });"),
    );
    await using command = startCommand(["serve", "environment.mjs", "--port", "0", "--workers", "2"], {
      cwd: project.dir,
    });
    const [, url = ""] = await command.printed(/at (http:\S+)/);
    const sessions = await openAll(url, 2);
    expect(new Set(sessions.map(({ pid }) => pid)).size).toBe(2);
    const third = await openTestSocket(`${url}/ws`);
    expect(await third.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED", max_sessions: 2 } });
    for (const { socket } of sessions) await socket[Symbol.asyncDispose]();
    await project[Symbol.asyncDispose]();
  });

  test("say in one line why they cannot start", async () => {
    await using cluster = await startCluster({ WORKERS: "1" });
    const project = await createProject({ "environment.mjs": WHERE });
    const port = new URL(cluster.url).port;
    await using command = startCommand(["serve", "environment.mjs", "--port", port, "--workers", "2"], {
      cwd: project.dir,
    });
    expect(await command.exited).toBe(2);
    expect(command.stderr).toMatch(/Port \d+ of 127.0.0.1 is in use/);
    await project[Symbol.asyncDispose]();
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
