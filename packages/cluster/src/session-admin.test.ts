import { expect, test } from "vitest";
import { fetchAsOperator, OPERATOR_TOKEN, OPERATOR_VARIABLES } from "../../../test-support/operator.js";
import { openAll, RESET, startCluster, step, until } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const headers = { connection: "close", authorization: `Bearer ${OPERATOR_TOKEN}` };
/** Enough requests, each on a new connection, to reach every worker. */
const TRIES = 12;

test("an operator ends a session and pauses the server through any worker", { timeout: 180_000 }, async () => {
  await using cluster = await startCluster({ ...OPERATOR_VARIABLES, WORKERS: "2", SHUTDOWN_DRAIN: "60" });
  const { url } = cluster;
  const opened = await openAll(url, 6);
  let sessions: { session_id: string }[] = [];
  // A worker that does not answer within a second is omitted.
  await until(async () => {
    ({ sessions } = await (await fetchAsOperator(`${url}/sessions`)).json());
    return sessions.length === 6;
  });
  for (const { session_id } of sessions.slice(0, 4)) {
    const ended = await fetch(`${url}/sessions/${session_id}`, { method: "DELETE", headers });
    expect([ended.status, await ended.json()]).toEqual([200, { session_id, closed: true }]);
    expect((await fetch(`${url}/sessions/${session_id}`, { method: "DELETE", headers })).status).toBe(404);
  }
  // Any worker may accept a request: the one that has the session knows the client, and each act is logged once.
  for (const { session_id } of sessions) {
    for (const authorization of ["Bearer wrong", headers.authorization]) {
      const asked = await fetch(`${url}/sessions/${session_id}/events`, { headers: { ...headers, authorization } });
      expect(asked.status === 401).toBe(authorization === "Bearer wrong");
    }
  }
  const answers = await Promise.all(opened.map(({ socket }) => socket.ask(step(1)).catch(() => "ended")));
  expect(answers.filter((answer) => answer === "ended")).toHaveLength(4);

  const act = (what: string) => fetch(`${url}/sessions/${what}`, { method: "POST", headers });
  const health = async () => {
    const asked = Array.from({ length: TRIES }, () => fetch(`${url}/health`, { headers: { connection: "close" } }));
    return new Set((await Promise.all(asked)).map(({ status }) => status));
  };
  const first = async () => {
    await using socket = await openTestSocket(`${url}/ws`);
    return await socket.ask(RESET);
  };
  expect((await act("pause")).status).toBe(200);
  // A busy worker may be paused after the answer.
  await expect.poll(health).toEqual(new Set([503]));
  for (let i = 0; i < TRIES; i++) expect(await first()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
  // Workers that start during a pause are paused as well.
  cluster.command.process.kill("SIGHUP");
  const { socket } = opened[answers.findIndex((answer) => answer !== "ended")] as (typeof opened)[number];
  await cluster.command.printed(/replacing the workers/);
  await until(async () => !(await health()).has(200));
  for (let i = 0; i < TRIES; i++) expect(await first()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
  expect(await socket.ask(step(1))).toMatchObject({ type: "observation" });
  expect((await act("resume")).status).toBe(200);
  await until(async () => !(await health()).has(503));
  expect(await first()).toMatchObject({ type: "observation" });
  for (const { socket } of opened) socket.ws.terminate();
  cluster.command.process.kill("SIGTERM");
  await cluster.command.exited;
  const { stderr } = cluster.command;
  const lines = stderr.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  const count = (what: string) => lines.filter(({ msg, client }) => msg === what && client === "127.0.0.1").length;
  expect(count("an operator ends a session")).toBe(8);
  expect(count("an operator reads the events of a session")).toBe(6);
  expect(count("an operator pauses the server")).toBe(1);
  expect(count("an operator resumes the server")).toBe(1);
  expect(count("a token was refused")).toBe(6);
  for (const { session_id } of sessions) expect(stderr).not.toContain(session_id);
  expect(stderr).not.toContain(OPERATOR_TOKEN);
});
