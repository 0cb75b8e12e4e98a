import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { SESSION_HEADER } from "#core/protocol/http.js";
import { RESUME_DEFAULTS } from "#core/session/registry/session-keeper.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../test-support/sockets/binary-socket.js";
import {
  BEGIN as begin,
  codeOf as code,
  countOf as count,
  resumeWith,
  stepFrame as step,
  TOKEN,
} from "../../../../test-support/sockets/resumable.js";

const servers = useServers();
const MAX_UNACKNOWLEDGED = RESUME_DEFAULTS.answers;
const { openSession, resume } = resumeWith(servers);

describe("a socket with the extension resume", () => {
  test("begins with the hash of a token, and says how long the session is kept", async () => {
    const server = await servers.start();
    const socket = await servers.open(server, "/ws?openenv=resume");
    expect(await socket.ask(begin)).toEqual({
      type: "resumed",
      data: {
        session_id: expect.stringMatching(/^[\w-]+$/),
        recovered: false,
        last_seq: 0,
        window_s: 900,
        max_unacknowledged: MAX_UNACKNOWLEDGED,
      },
      openenv: { extensions: ["resume"] },
    });
  });

  test("is named by a header of its handshake, for balancers; no other socket is", async () => {
    const server = await servers.start();
    const handshake = async (path: string): Promise<[WebSocket, unknown]> => {
      const ws = new WebSocket(server.url.replace("http", "ws") + path);
      const [[response]] = await Promise.all([once(ws, "upgrade") as Promise<[IncomingMessage]>, once(ws, "open")]);
      return [ws, response.headers[SESSION_HEADER]];
    };
    for (const extensions of ["resume", "batch,resume"]) {
      const [ws, name] = await handshake(`/ws?openenv=${extensions}`);
      ws.send(JSON.stringify(begin));
      const [data] = (await once(ws, "message")) as [Buffer];
      expect(JSON.parse(String(data))).toMatchObject({ data: { session_id: name } });
      ws.terminate();
    }
    for (const path of ["/ws", "/ws?openenv=batch", "/ws?openenv=resume&session_id=none"]) {
      const [ws, name] = await handshake(path);
      expect(name).toBeUndefined();
      ws.terminate();
    }
  });

  test.each([
    ["another frame", { type: "state" }],
    ["no hash", { type: "resume", data: {} }],
    ["a hash that is none", { type: "resume", data: { token_hash: "abc" } }],
    ["an attempt that is no integer", { type: "resume", data: { ...begin.data, attempt: "1" } }],
  ])("refuses %s at the beginning and goes on", async (_what, frame) => {
    const server = await servers.start();
    const socket = await servers.open(server, "/ws?openenv=resume");
    expect(code(await socket.ask(frame))).toBe("VALIDATION_ERROR");
    expect((await socket.ask(begin))["type"]).toBe("resumed");
  });

  test("executes a repeated request once and answers it from the store, errors too", async () => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    const first = await socket.ask(step(2, 2, 1));
    expect(await socket.ask(step(2, 2, 1))).toEqual(first);
    const failed = await socket.ask(step(13, 3, 1));
    expect(code(failed)).toBe("EXECUTION_ERROR");
    expect(await socket.ask(step(13, 3, 1))).toEqual(failed);
    const invalid = await socket.ask({ type: "step", data: { amount: "x" }, seq: 4, ack: 1 });
    expect(code(invalid)).toBe("VALIDATION_ERROR");
    expect(await socket.ask({ data: { amount: "x" }, ack: 3, seq: 4, type: "step" })).toEqual(invalid);
    expect(count(await socket.ask(step(1, 5, 4)))).toBe(3);
  });

  test("answers with the number of the event, repeats too; a refused request has none, nor has another socket", async () => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    const amount = (given: unknown) => ({ type: "step", data: { amount: given } });
    const answers = [];
    for (const [nth, frame] of [{ type: "reset" }, amount("x"), { type: "state" }, amount(1)].entries()) {
      answers.push(await socket.ask({ ...frame, seq: nth + 2, ack: 0 }));
    }
    expect(answers.map(({ event }) => event)).toEqual([2, undefined, undefined, 3]);
    expect(await socket.ask({ ...amount(1), seq: 5, ack: 0 })).toEqual(answers[3]);
    const stock = await servers.open(server);
    for (const frame of [{ type: "reset" }, amount(1)]) {
      expect(Object.keys(await stock.ask(frame))).toEqual(["type", "data"]);
    }
  });

  test("refuses gaps, conflicts, freed answers and too many without ack; the session continues", async () => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    expect(code(await socket.ask(step(1, 3)))).toBe("SEQUENCE_GAP");
    await socket.ask(step(1, 2));
    expect(code(await socket.ask(step(2, 2)))).toBe("SEQUENCE_CONFLICT");
    await socket.ask(step(1, 3, 2));
    expect(code(await socket.ask(step(1, 2)))).toBe("ANSWER_EXPIRED");
    for (let seq = 4; seq < MAX_UNACKNOWLEDGED + 3; seq++) await socket.ask(step(0, seq));
    const next = MAX_UNACKNOWLEDGED + 3;
    expect(code(await socket.ask(step(1, next)))).toBe("SEQUENCE_OVERFLOW");
    expect(count(await socket.ask(step(1, next, next - 1)))).toBe(3);
  });

  test("repeats the number of a request in its answer, and the first answer for a repeated first frame, which opens no session", async () => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    expect(await socket.ask({ type: "state", seq: 2, ack: 1 })).toMatchObject({ type: "state", seq: 2 });
    expect(await socket.ask(step(1, 4))).toMatchObject({ type: "error", data: { code: "SEQUENCE_GAP" }, seq: 4 });
    expect(await socket.ask({ type: "state", ack: 1 })).not.toHaveProperty("seq");
    expect(await socket.ask(begin)).toMatchObject({ type: "resumed", data: { recovered: false, last_seq: 2 } });
    expect(server.capacity().active_sessions).toBe(1);
    expect(count(await socket.ask(step(4, 3, 2)))).toBe(4);
  });

  test.each([
    ["no seq", { type: "state", ack: 0 }],
    ["seq 0", { type: "state", seq: 0, ack: 0 }],
    ["a seq that is no integer", { type: "state", seq: 1.5, ack: 0 }],
    ["no ack", { type: "state", seq: 2 }],
    ["an ack of what was not answered", { type: "state", seq: 2, ack: 2 }],
    ["a negative ack", { type: "state", seq: 2, ack: -1 }],
  ])("refuses %s without using the number", async (_what, frame) => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    expect(code(await socket.ask(frame))).toBe("VALIDATION_ERROR");
    expect(count(await socket.ask(step(4, 2, 1)))).toBe(4);
  });
});

describe("a session whose connection is lost", () => {
  test("continues with the next connection", async () => {
    const counter = defineCounter();
    const server = await servers.start({ maxConcurrentEnvs: 1 }, counter);
    const { socket, id } = await openSession(server);
    await socket.ask(step(2, 2, 1));
    socket.ws.terminate();
    const [next, resumed] = await resume(server, id);
    expect(resumed).toMatchObject({ session_id: id, recovered: true, last_seq: 2 });
    expect(count(await next.ask(step(2, 2, 1)))).toBe(2);
    expect(count(await next.ask(step(3, 3, 2)))).toBe(5);
    expect(counter.log).toMatchObject({ created: 1, closed: 0 });
  });

  test("finishes its step, and a repeat waits for it", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const { socket, id } = await openSession(server);
    socket.send(step(50, 2, 1));
    await waitFor(() => counter.log.begun === 1);
    socket.ws.terminate();
    const [next] = await resume(server, id);
    expect(count(await next.ask(step(50, 2, 1)))).toBe(50);
    expect(counter.log.begun).toBe(1);
  });

  test("is taken over by a second connection, and the first one is closed with 4001", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    const [next] = await resume(server, id);
    expect(await socket.closed).toEqual({ code: 4001, reason: "another connection has resumed the session" });
    expect(count(await next.ask(step(1, 2, 1)))).toBe(1);
  });

  test("is not taken over by the frame of an earlier connection that arrives late", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    socket.ws.terminate();
    const come = async (attempt: number) => {
      const next = await servers.open(server, `/ws?openenv=resume&session_id=${id}`);
      return { next, answer: await next.ask({ type: "resume", data: { token: TOKEN, attempt } }) };
    };
    const { next, answer } = await come(2);
    expect(answer).toMatchObject({ data: { recovered: true } });
    const late = await come(1);
    const reason = "a later connection has resumed the session";
    expect(late.answer).toMatchObject({ data: { recovered: false, reason } });
    expect(await late.next.closed).toEqual({ code: 4000, reason });
    const repeated = await come(2);
    expect(repeated.answer).toMatchObject({ type: "error", data: { code: "SESSION_ELSEWHERE" } });
    expect((await repeated.next.closed).code).toBe(1013);
    expect(count(await next.ask(step(1, 2, 1)))).toBe(1);
    expect((await come(3)).answer).toMatchObject({ data: { recovered: true } });
  });

  test("is not resumed with the hash in place of the token, and its own connection continues", async () => {
    const reason = "the token is not that of the session";
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    const [other, resumed] = await resume(server, id, begin.data.token_hash);
    expect(resumed).toMatchObject({ recovered: false, reason });
    expect(await other.closed).toEqual({ code: 4000, reason });
    expect(count(await socket.ask(step(1, 2, 1)))).toBe(1);
  });

  test("is not resumed without the extension, and not over HTTP", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    const other = await servers.open(server, `/ws?session_id=${id}`);
    expect(code(await other.receive())).toBe("SESSION_ERROR");
    const headers = { "content-type": "application/json", [SESSION_HEADER]: id };
    const init = { method: "POST", headers, body: '{"action":{"amount":1}}' };
    expect((await fetch(`${server.url}/step`, init)).status).toBe(404);
    expect(count(await socket.ask(step(1, 2, 1)))).toBe(1);
  });

  test("that has ended says why", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    socket.send({ type: "close" });
    await socket.closed;
    const [, resumed] = await resume(server, id);
    expect(resumed).toMatchObject({ recovered: false, reason: "closed by the client" });
    const [, stranger] = await resume(server, id, "another token");
    expect(stranger).toMatchObject({ recovered: false, reason: "the server does not know the session" });
    const [, unknown] = await resume(server, "no-such-session");
    expect(unknown).toMatchObject({ recovered: false, reason: "the server does not know the session" });
  });
});

describe("a batch socket whose connection is lost", () => {
  test("is resumed as a whole, and its frames are executed once", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const socket = await servers.open(server, "/ws?openenv=batch,resume");
    const { data } = (await socket.ask(begin)) as { data: { session_id: string } };
    const items = [0, 1].map((session) => ({ session, data: { amount: 50 } }));
    await socket.ask({ type: "open_many", data: { count: 2 }, seq: 1, ack: 0 });
    await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] }, seq: 2, ack: 1 });
    socket.send({ type: "step_many", data: { items }, seq: 3, ack: 2 });
    await waitFor(() => counter.log.begun === 2);
    socket.ws.terminate();
    const next = await servers.open(server, `/ws?openenv=batch,resume&session_id=${data.session_id}`);
    expect(await next.ask({ type: "resume", data: { token: TOKEN } })).toMatchObject({
      data: { recovered: true, last_seq: 3 },
    });
    const answer = await next.ask({ type: "step_many", data: { items }, seq: 3, ack: 2 });
    const seen = (answer["data"] as { items: { data: { observation: { count: number } } }[] }).items;
    expect(seen.map((item) => item.data.observation.count)).toEqual([50, 50]);
    expect(counter.log).toMatchObject({ created: 2, begun: 2, closed: 0 });
    next.send({ type: "close" });
    await next.closed;
    await waitFor(() => counter.log.closed === 2);
  });
});

test("a batch socket that is lost before it opens a session is resumed", async () => {
  const server = await servers.start();
  const socket = await servers.open(server, "/ws?openenv=batch,resume");
  const { data } = (await socket.ask(begin)) as { data: { session_id: string } };
  socket.ws.terminate();
  const next = await servers.open(server, `/ws?openenv=batch,resume&session_id=${data.session_id}`);
  const answer = await next.ask({ type: "resume", data: { token: TOKEN } });
  expect(answer).toMatchObject({ data: { recovered: true, last_seq: 0 } });
});

describe("a resumable session is safe from", () => {
  test("a wrong token and the right one in one packet: nothing is executed, and the session stays free", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    socket.ws.terminate();
    const other = await servers.open(server, `/ws?openenv=resume&session_id=${id}`);
    other.send({ type: "resume", data: { token: "wrong" } }, { type: "resume", data: { token: TOKEN } });
    expect((await other.receive())["data"]).toMatchObject({ recovered: false });
    expect((await other.closed).code).toBe(4000);
    const [, resumed] = await resume(server, id);
    expect(resumed).toMatchObject({ recovered: true });
  });

  test("a plain socket with its id", async () => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    await socket.ask({
      type: "mcp",
      data: { jsonrpc: "2.0", id: 1, method: "openenv/session/create" },
      seq: 2,
      ack: 1,
    });
    socket.ws.terminate();
    const plain = await servers.open(server, `/ws?session_id=${id}`);
    expect(code(await plain.receive())).toBe("SESSION_ERROR");
  });

  test("a changed repeat: a long request is compared when it is repeated", async () => {
    const server = await servers.start();
    const { socket } = await openSession(server);
    const long = { type: "step", data: { amount: 1, metadata: { note: "x".repeat(10_000) } }, seq: 2, ack: 1 };
    const first = await socket.ask(long);
    expect(await socket.ask({ ...long, ack: 0 })).toEqual(first);
    expect(code(await socket.ask({ ...long, data: { ...long.data, amount: 2 } }))).toBe("SEQUENCE_CONFLICT");
  });
});

test("a binary request is the same as its repeat with another ack, order of keys or encoding", async () => {
  const server = await servers.start();
  await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary,resume`);
  await socket.ask(JSON.stringify(begin));
  await socket.askPacked({ type: "reset", seq: 1, ack: 0 });
  const first = await socket.askPacked(step(2, 2, 0));
  expect(count(first)).toBe(2);
  expect(await socket.askPacked(step(2, 2, 0))).toEqual(first);
  expect(await socket.askPacked({ ack: 1, seq: 2, data: { amount: 2 }, type: "step" })).toEqual(first);
  expect((await socket.ask(JSON.stringify(step(2, 2, 1)))).frame).toEqual(first);
  expect(code(await socket.askPacked(step(3, 2, 1)))).toBe("SEQUENCE_CONFLICT");
  expect(count(await socket.askPacked(step(1, 3, 2)))).toBe(3);
});
