/** `openenv run attacker.ts <url> <attack>`: runs one attack on a local server until this process is killed. */
import { loadBinary } from "../../packages/openenv/src/protocol/codec/binary.js";
import { MAX_MESSAGE_ITEMS } from "../../packages/openenv/src/protocol/codec/json.js";
import { flood, sendUnfinished } from "../../test-support/sockets/attacks.js";
import { openBinarySocket } from "../../test-support/sockets/binary-socket.js";
import { packCostlyStep, renderCostly } from "../../test-support/sockets/costly-messages.js";
import { offerHttp2, pipelineRequests, renderRequest } from "../../test-support/sockets/pipelined-requests.js";
import { openTestSocket } from "../../test-support/sockets/socket.js";

/** Limits of all attacks: the duration, and the number of frames per connection. */
const MAX_SECONDS = 30;
const MAX_FRAMES = 10_000_000;

const COPIES = 20;
/** The most that one message may contain, with room for what is around the value. */
const MOST = { items: MAX_MESSAGE_ITEMS - 100, bytes: 15e6 };
const step = (action: object): object => ({ type: "step", data: action });
const RESET = { type: "reset", data: {} };
const SLOW = step({ message: "slow", wait_ms: 2_000 });

const ATTACKS: Record<string, (url: string) => Promise<unknown>> = {
  "one-byte": (url) => floodWith(url, 1, Buffer.from("x"), [RESET, SLOW]),
  empty: (url) => floodWith(url, 1, Buffer.alloc(0), []),
  "one-byte-20": (url) => floodWith(url, 20, Buffer.from("x"), []),
  "full-speed-30": (url) => floodWith(url, 30, Buffer.from(JSON.stringify(step({ message: "hello" }))), [RESET]),
  unfinished: (url) => sendUnfinished(url, { peers: 90, bytes: 15 * 1024 * 1024 }),
  pipelined: async (url) => {
    const wait = renderRequest("/step", { action: { message: "slow", wait_ms: 2_000 } });
    const socket = pipelineRequests(Number(new URL(url).port), repeat(wait, renderRequest("/health").repeat(1000)));
    socket.resume();
  },
  refused: (url) => askAgain(url, renderCostly("empty lists", { items: 15e6, bytes: 15e6 })),
  permitted: (url) => askAgain(url, renderCostly("empty lists", MOST)),
  numbers: (url) => askAgain(url, renderCostly("numbers", MOST)),
  strings: (url) => askAgain(url, renderCostly("strings", MOST)),
  nan: (url) => askAgain(url, renderCostly("non-finite numbers", MOST)),
  keys: (url) => askAgain(url, renderCostly("keys of one object", MOST)),
  bodies: async (url) => {
    const extra = JSON.parse(renderCostly("objects with different keys", MOST)) as unknown;
    const request = renderRequest("/step", { action: { message: "x", extra } });
    for (let i = 0; i < 6; i++) pipelineRequests(Number(new URL(url).port), again(request)).resume();
  },
  nils: (url) => askPackedAgain(url, packCostlyStep("extra", "nil", MOST.items)),
  packed: async (url) => {
    const extra = JSON.parse(renderCostly("keys of one object", MOST)) as unknown;
    await askPackedAgain(url, Buffer.from((await loadBinary()).encode(step({ message: "x", extra }))));
  },
  batch: async (url) => {
    const socket = await openTestSocket(`${url}/ws?openenv=batch`);
    await socket.ask({ type: "open_many", data: { count: 1 } });
    await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }] } });
    const extra = renderCostly("strings", MOST);
    repeatFrame(
      socket,
      `{"type":"step_many","data":{"items":[{"session":0,"data":{"message":"x","extra":${extra}}}]}}`,
    );
  },
  mcp: async (url) => {
    const extra = JSON.parse(renderCostly("strings", MOST)) as unknown;
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", arguments: { extra } } };
    pipelineRequests(Number(new URL(url).port), again(renderRequest("/mcp", call))).resume();
  },
  ors: async (url) => {
    const input = JSON.parse(renderCostly("strings", MOST)) as unknown;
    const request = renderRequest("/slow_env/call", { name: "step", input: { message: "x", input } });
    pipelineRequests(Number(new URL(url).port), again(request)).resume();
  },
  h2c: async (url) => {
    const request = offerHttp2(renderRequest("/health"));
    pipelineRequests(Number(new URL(url).port), repeat("", request.repeat(1000))).resume();
  },
  forks: async (url) => {
    const socket = await openTestSocket(`${url}/ws?openenv=batch`);
    const many = (type: string, items: object[]): Promise<unknown> => socket.ask({ type, data: { items } });
    await socket.ask({ type: "open_many", data: { count: 1 } });
    await many("reset_many", [{ session: 0, data: { records: 150_000 } }]);
    let first = 1;
    const fork = async (): Promise<void> => {
      for (;;) {
        await many("fork_many", [{ session: 0, count: COPIES }]);
        await many(
          "close_many",
          Array.from({ length: COPIES }, () => ({ session: first++ })),
        );
      }
    };
    void fork().catch(() => process.exit(0));
  },
  silent: async (url) => {
    // Ten take the free slots and one waits, so that idle sockets are closed; each reconnects.
    for (let i = 0; i < 11; i++) await openSilent(url);
  },
};

const [url = "", name = ""] = process.argv.slice(2);
const attack = ATTACKS[name];
if (attack === undefined) throw new Error(`no attack "${name}": ${Object.keys(ATTACKS).join(", ")}`);
setTimeout(() => process.exit(0), MAX_SECONDS * 1000);
await attack(url);
process.stdout.write("ATTACKING 1\n");

async function floodWith(url: string, peers: number, payload: Buffer, before: object[]): Promise<void> {
  const options = { count: MAX_FRAMES, payload, before, onAnswer: () => {} };
  for (let i = 0; i < peers; i++) await flood(url, options);
}

/** Sends steps one after the other, each when the last one was answered. */
async function askAgain(url: string, value: string): Promise<void> {
  const socket = await openTestSocket(`${url}/ws`);
  await socket.ask(RESET);
  repeatFrame(socket, `{"type":"step","data":{"message":"x","extra":${value}}}`);
}

/** The same in MessagePack. */
async function askPackedAgain(url: string, frame: Buffer): Promise<void> {
  const socket = await openBinarySocket(`${url}/ws?openenv=binary`);
  await socket.ask(JSON.stringify(RESET));
  repeatFrame(socket, frame);
}

function repeatFrame<F>(socket: { ask(frame: F): Promise<unknown> }, frame: F): void {
  const ask = async (): Promise<void> => {
    for (;;) await socket.ask(frame);
  };
  void ask().catch(() => process.exit(0));
}

async function openSilent(url: string): Promise<void> {
  const { closed } = await openTestSocket(`${url}/ws`);
  void closed.then(() => openSilent(url)).catch(() => process.exit(0));
}

function* again(request: string): Generator<string> {
  for (let sent = 0; sent < MAX_FRAMES; sent++) yield request;
}

function* repeat(first: string, rest: string): Generator<string> {
  for (let sent = 0; sent < MAX_FRAMES; sent += 1000) {
    if (sent % 10_000 === 0) yield first;
    yield rest;
  }
}
