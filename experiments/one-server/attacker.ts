/** `openenv run attacker.ts <url> <attack>`: runs one attack on a local server until this process is killed. */
import { flood, sendUnfinished } from "../../test-support/sockets/attacks.js";
import { openBinarySocket } from "../../test-support/sockets/binary-socket.js";
import { packCostlyStep, renderCostly } from "../../test-support/sockets/costly-messages.js";
import { pipelineRequests, renderRequest } from "../../test-support/sockets/pipelined-requests.js";
import { openTestSocket } from "../../test-support/sockets/socket.js";

/** Limits of all attacks: the duration, and the number of frames per connection. */
const MAX_SECONDS = 30;
const MAX_FRAMES = 10_000_000;

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
  permitted: (url) => askAgain(url, renderCostly("empty lists", { items: 990_000, bytes: 15e6 })),
  nan: (url) => askAgain(url, renderCostly("non-finite numbers", { items: 990_000, bytes: 15e6 })),
  keys: (url) => askAgain(url, renderCostly("keys of one object", { items: 990_000, bytes: 15e6 })),
  bodies: async (url) => {
    const extra = JSON.parse(renderCostly("objects with different keys", { items: 987_000, bytes: 15e6 })) as unknown;
    const request = renderRequest("/step", { action: { message: "x", extra } });
    for (let i = 0; i < 6; i++) pipelineRequests(Number(new URL(url).port), again(request)).resume();
  },
  nils: (url) => askPackedAgain(url, packCostlyStep("extra", "nil", 990_000)),
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

/** Sends frames one after the other, each when the last one was answered. */
async function askAgain(url: string, value: string): Promise<void> {
  const socket = await openTestSocket(`${url}/ws`);
  await socket.ask(RESET);
  const frame = `{"type":"step","data":{"message":"x","extra":${value}}}`;
  const ask = async (): Promise<void> => {
    for (;;) await socket.ask(frame);
  };
  void ask().catch(() => process.exit(0));
}

/** The same in MessagePack. */
async function askPackedAgain(url: string, frame: Buffer): Promise<void> {
  const socket = await openBinarySocket(`${url}/ws?openenv=binary`);
  await socket.ask(JSON.stringify(RESET));
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
