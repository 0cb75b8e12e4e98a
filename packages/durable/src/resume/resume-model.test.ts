import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunningServer } from "#core/server/types.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import type { TestSocket } from "../../../../test-support/sockets/socket.js";

/** Commands are drawn at random, sent to a real server, and compared with the model below. */

type Json = Record<string, unknown>;

const servers = useServers();
const TOKEN = "a-token-of-the-client";
const MAX_UNACKNOWLEDGED = 3;
const begin = { type: "resume", data: { token_hash: createHash("sha256").update(TOKEN).digest("hex") } };

/** What a client may expect of its session. */
interface Model {
  session: "none" | "attached" | "detached" | "ended";
  last: number;
  ack: number;
  attempt: number;
  isPlaying: boolean;
  count: number;
  steps: number;
  /** The requests that were executed and are not acknowledged. */
  stored: Map<number, Json>;
}

/** The server, the connection of the client, and the answers that it got. */
interface Real {
  server: RunningServer;
  socket: TestSocket | undefined;
  id: string;
  answers: Map<number, Json>;
}

type Command = fc.AsyncCommand<Model, Real>;

const dataOf = (answer: Json): Json => answer["data"] as Json;
const codeOf = (answer: Json): unknown => dataOf(answer)["code"];
const socketOf = (real: Real): TestSocket => real.socket as TestSocket;

/** Executes a request in the model and returns what its answer has to contain. */
function execute(model: Model, request: Json): Json {
  const amount = request["type"] === "step" ? dataOf(request)["amount"] : undefined;
  if (request["type"] === "reset") {
    Object.assign(model, { isPlaying: true, count: 0, steps: 0 });
    return { type: "observation", data: { observation: { count: 0 } } };
  }
  if (request["type"] === "state") return { type: "state", data: { step_count: model.steps } };
  if (typeof amount !== "number") return { type: "error", data: { code: "VALIDATION_ERROR" } };
  if (!model.isPlaying) return { type: "error", data: { openenv_code: "NO_EPISODE" } };
  if (amount === 13) return { type: "error", data: { code: "EXECUTION_ERROR" } };
  model.steps++;
  model.count += amount;
  return { type: "observation", data: { observation: { count: model.count } } };
}

function acknowledge(model: Model, ack: number): void {
  model.ack = Math.max(model.ack, ack);
  for (const seq of model.stored.keys()) if (seq <= ack) model.stored.delete(seq);
}

async function comeBack(real: Real, token: string, attempt: number): Promise<[TestSocket, Json]> {
  const socket = await servers.open(real.server, `/ws?openenv=resume&session_id=${real.id}`);
  return [socket, dataOf(await socket.ask({ type: "resume", data: { token, attempt } }))];
}

/** The request was executed. */
function keep(model: Model, real: Real, { sent, answer }: { sent: Json; answer: Json }): void {
  const seq = ++model.last;
  expect(answer).toMatchObject({ ...execute(model, sent), seq });
  model.stored.set(seq, sent);
  real.answers.set(seq, answer);
}

async function expectRefused([socket, answer]: [TestSocket, Json]): Promise<void> {
  expect(answer).toMatchObject({ recovered: false, reason: expect.any(String) });
  expect((await socket.closed).code).toBe(4000);
}

/** Connects with the token; the connection before, if there is one, loses the session. */
async function resume(model: Model, real: Real): Promise<number> {
  const before = model.session === "attached" ? socketOf(real) : undefined;
  const [socket, answer] = await comeBack(real, TOKEN, ++model.attempt);
  expect(answer).toMatchObject({ session_id: real.id, recovered: true });
  if (before) expect((await before.closed).code).toBe(4001);
  [real.socket, model.session] = [socket, "attached"];
  return answer["last_seq"] as number;
}

/** The connection is there. */
const isAttached = ({ session }: Readonly<Model>): boolean => session === "attached";

function command(name: string, check: Command["check"], run: Command["run"]): Command {
  return { check, run, toString: () => name };
}

const connect = command(
  "connect",
  ({ session }) => session === "none" || session === "ended",
  async (model, real) => {
    real.socket = await servers.open(real.server, "/ws?openenv=resume");
    const answer = dataOf(await real.socket.ask(begin));
    expect(answer).toMatchObject({ recovered: false, last_seq: 0 });
    real.id = String(answer["session_id"]);
    real.answers.clear();
    Object.assign(model, { ...initial(), session: "attached" });
  },
);

const request = (sent: Json, unacknowledged: number): Command =>
  command(`${JSON.stringify(sent)}, ${unacknowledged} answers not acknowledged`, isAttached, async (model, real) => {
    const seq = model.last + 1;
    const ack = Math.max(model.ack, model.last - unacknowledged);
    acknowledge(model, ack);
    const answer = await socketOf(real).ask({ ...sent, seq, ack });
    if (model.stored.size >= MAX_UNACKNOWLEDGED) return expect(codeOf(answer)).toBe("SEQUENCE_OVERFLOW");
    keep(model, real, { sent, answer });
  });

const requestAndCut = (sent: Json): Command =>
  command(`${JSON.stringify(sent)}, cut before the answer, resume, repeat`, isAttached, async (model, real) => {
    const [seq, ack] = [model.last + 1, model.last];
    socketOf(real).send({ ...sent, seq, ack });
    socketOf(real).ws.terminate();
    model.session = "detached";
    expect([ack, seq]).toContain(await resume(model, real));
    acknowledge(model, ack);
    keep(model, real, { sent, answer: await socketOf(real).ask({ ...sent, seq, ack }) });
  });

const repeat = (back: number, changed: boolean): Command =>
  command(
    `${changed ? "another request in place of" : "repeat"} that of ${back} before`,
    (model) => isAttached(model) && model.last - back >= 1,
    async (model, real) => {
      const seq = model.last - back;
      const stored = model.stored.get(seq);
      const sent = changed || stored === undefined ? { type: "step", data: { amount: 77 } } : stored;
      const answer = await socketOf(real).ask({ ...sent, seq, ack: Math.min(model.ack, seq - 1) });
      if (stored === undefined) expect(codeOf(answer)).toBe("ANSWER_EXPIRED");
      else if (changed) expect(codeOf(answer)).toBe("SEQUENCE_CONFLICT");
      else expect(answer).toEqual(real.answers.get(seq));
    },
  );

const gap = (numbers: number): Command =>
  command(`leave out ${numbers} numbers`, isAttached, async (model, real) => {
    const answer = await socketOf(real).ask({ type: "state", seq: model.last + 1 + numbers, ack: model.ack });
    expect(codeOf(answer)).toBe("SEQUENCE_GAP");
  });

const cut = command("cut", isAttached, async (model, real) => {
  socketOf(real).ws.terminate();
  model.session = "detached";
});

/** With a connection, this is a take-over. */
const comeBackWithToken = command(
  "resume",
  ({ session }) => session !== "none",
  async (model, real) => {
    if (model.session !== "ended") return expect(await resume(model, real)).toBe(model.last);
    await expectRefused(await comeBack(real, TOKEN, ++model.attempt));
  },
);

const wrongToken = command(
  "wrong token",
  ({ session }) => session !== "none",
  async (model, real) => expectRefused(await comeBack(real, "another", model.attempt + 1)),
);

const lateFrame = command(
  "the first frame of the last connection once more",
  ({ session, attempt }) => session !== "none" && attempt > 0,
  async (model, real) => {
    const [socket, answer] = await comeBack(real, TOKEN, model.attempt);
    if (model.session === "ended") return expectRefused([socket, answer]);
    expect(answer).toMatchObject({ code: "SESSION_ELSEWHERE" });
    expect((await socket.closed).code).toBe(1013);
  },
);

/** Another client wants the only slot: it gets that of a session without a connection. */
const expire = command(
  "a newcomer",
  ({ session }) => session === "attached" || session === "detached",
  async (model, real) => {
    const arrive = async (): Promise<unknown> => {
      const socket = await servers.open(real.server);
      const answer = await socket.ask({ type: "reset" });
      socket.send({ type: "close" });
      await socket.closed;
      return codeOf(answer) ?? answer["type"];
    };
    if (isAttached(model)) return expect(await arrive()).toBe("CAPACITY_REACHED");
    // The server learns a moment later that the connection is lost.
    await expect.poll(arrive).toBe("observation");
    model.session = "ended";
  },
);

const close = command("close", isAttached, async (model, real) => {
  socketOf(real).send({ type: "close" });
  expect((await socketOf(real).closed).code).toBe(1000);
  model.session = "ended";
});

function initial(): Model {
  return { session: "none", last: 0, ack: 0, attempt: 0, isPlaying: false, count: 0, steps: 0, stored: new Map() };
}

const requests = fc.oneof(
  fc.constant({ type: "reset", data: {} }),
  fc.constant({ type: "state" }),
  fc.constantFrom(1, 2, 5, 13, "x").map((amount) => ({ type: "step", data: { amount } })),
);

const commands = [
  fc.constant(connect),
  fc.tuple(requests, fc.nat(2)).map((drawn) => request(...drawn)),
  fc.tuple(requests, fc.nat(2)).map((drawn) => request(...drawn)),
  requests.map(requestAndCut),
  fc.tuple(fc.nat(4), fc.boolean()).map((drawn) => repeat(...drawn)),
  fc.integer({ min: 1, max: 4 }).map(gap),
  fc.constantFrom(cut, comeBackWithToken, wrongToken, lateFrame),
  fc.constantFrom(expire, close),
];

test("a resumable session follows the model, whatever its client does", async () => {
  const options = { maxConcurrentEnvs: 1, resumeAnswers: MAX_UNACKNOWLEDGED, resumeGuarantee: 0.001 };
  const server = await servers.start(options);
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: "max" }), async (drawn) => {
    const model = initial();
    const real: Real = { server, socket: undefined, id: "", answers: new Map() };
    try {
      await fc.asyncModelRun(() => ({ model, real }), [connect, ...drawn]);
    } finally {
      if (model.session === "detached") await resume(model, real);
      if (isAttached(model)) await close.run(model, real);
    }
  });
  await fc.assert(property, { numRuns: 30 });
});
