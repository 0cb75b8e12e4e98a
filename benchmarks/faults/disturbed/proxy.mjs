import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { rng } from "openenv-ts";

/**
 * What the proxy does to a connection, and to which unit: `open` is the connection itself, `request` and `answer` are the
 * first frames of the WebSocket, counted from its handshake on. After a fault that is not `fatal` the connection continues.
 */
export const FAULTS = {
  "refused connection": { at: "open", act: (link) => link.cut() },
  "connection without an answer": { at: "open", act: (link) => link.mute() },
  "cut before a request": { at: "request", act: (link) => link.cut() },
  "cut in a request": { at: "request", act: (link, frame) => link.cutAfter("request", half(frame)) },
  "cut after a request": { at: "request", act: (link, frame) => link.cutAfter("request", frame) },
  "cut in place of an answer": { at: "answer", act: (link) => link.cut() },
  "cut in an answer": { at: "answer", act: (link, frame) => link.cutAfter("answer", half(frame)) },
  "cut after an answer": { at: "answer", act: (link, frame) => link.cutAfter("answer", frame) },
  "cut that the server does not notice": { at: "answer", act: (link) => link.strand() },
  "request after its connection was cut": { at: "request", act: (link, frame) => link.deliverLate(frame) },
  "connection that falls silent": { at: "request", act: (link) => link.mute() },
  "connection that arrives twice": { at: "request", act: (link, frame) => link.repeat(frame) },
  "repeated request": { at: "request", act: (link, frame) => link.send("request", Buffer.concat([frame, frame])) },
  "repeated answer": { at: "answer", act: (link, frame) => link.send("answer", Buffer.concat([frame, frame])) },
  "delayed request": { at: "request", act: (link, frame) => link.delay("request", frame) },
  "delayed answer": { at: "answer", act: (link, frame) => link.delay("answer", frame) },
};

const MAX_DELAY_MS = 100;

/**
 * A proxy in front of a server whose connections get faults, chosen by the seed and the number of the connection. Between
 * two faults of a connection are up to `frames` frames. A rare kind has a `weight` below 1. It begins when `disturb` is called.
 */
export async function startFaultProxy({ url, seed = 1, frames = 16, kinds = Object.keys(FAULTS), weights = {} }) {
  const { port } = new URL(url);
  const links = new Set();
  const counts = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  let isCalm = true;
  let opened = 0;
  const later = kinds.filter((kind) => FAULTS[kind].at !== "open");

  /** The next fault of a connection, of one that is open already if `among` says so. */
  const draw = (random, among = kinds) => {
    let kind = random.pick(among);
    while (random.next() >= (weights[kind] ?? 1)) kind = random.pick(among);
    return { kind, left: random.int(1, frames), ...FAULTS[kind] };
  };

  const server = createServer((client) => {
    const random = rng(seed * 1_000_003 + opened++);
    let next = draw(random, isCalm ? later : kinds);
    const link = new Link(client, connect(Number(port), "127.0.0.1"), random);
    const meet = (at, frame) => {
      if (isCalm || link.isSpared || next.at !== at || (at !== "open" && --next.left > 0)) return false;
      const { kind, act } = next;
      // A second session would be opened, and its requests executed: the client cannot know of it.
      if (kind === "connection that arrives twice" && !link.returns) return false;
      counts[kind]++;
      next = draw(random, later);
      return act(link, frame) ?? true;
    };
    links.add(link);
    link.onClose = () => links.delete(link);
    if (!meet("open")) link.pass(meet);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    get faults() {
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    /** The connections that are open. */
    links,
    disturb() {
      isCalm = false;
    },
    /** From now on everything is passed on. */
    calm() {
      isCalm = true;
      for (const link of links) if (link.muted) link.cut();
    },
    async close() {
      for (const link of links) link.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One connection of a client and its connection to the server. */
class Link {
  muted = false;
  /** Whether this connection belongs to a session that is known to be open. */
  returns = false;
  /**
   * Whether the session is named by the address alone, as by released clients. While a second connection of it is open,
   * the first one has no fault: otherwise the server must take the second one for the client, which has come back.
   */
  isByAddress = false;
  isSpared = false;
  onClose = () => {};
  #sent = [];
  #ends;
  #random;

  constructor(client, server, random) {
    this.#ends = { request: [client, server], answer: [server, client] };
    this.#random = random;
    for (const socket of [client, server]) socket.setNoDelay().on("error", () => {});
    client.on("close", () => this.cut());
    // A proxy that has fallen silent passes on no end either.
    server.on("close", () => this.muted || this.cut());
  }

  /** Passes everything on, except the frames for which `meet` returns that it has dealt with them, and how. */
  pass(meet) {
    for (const [at, [from]] of Object.entries(this.#ends)) {
      let turn = Promise.resolve();
      let isHead = true;
      const take = async (unit) => {
        if (this.muted) return;
        if (at === "request") this.#sent.push(unit);
        if (isHead && at === "request") {
          this.returns = unit.includes("session_id=");
          this.isByAddress = unit.includes("/session/");
        }
        const isFrame = !isHead && (unit[0] & 0x0f) < 3;
        if (isFrame && at === "answer" && this.isByAddress) this.returns = true;
        isHead = false;
        const met = isFrame && meet(at, unit);
        if (met) await met;
        else this.send(at, unit);
      };
      from.on(
        "data",
        splitter((unit) => (turn = turn.then(() => take(unit)))),
      );
    }
  }

  send(at, bytes) {
    this.#ends[at][1].write(bytes);
  }

  cut() {
    for (const socket of this.#ends.request) socket.destroyed || this.#end(socket);
    this.onClose();
  }

  /** With a FIN or a RST. Node 20 cannot reset a socket while it sends its FIN: it then never closes it and does not exit. */
  #end(socket) {
    if (this.#random.next() < 0.5 || socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }

  cutAfter(at, bytes) {
    this.muted = true;
    this.#ends[at][1].write(bytes, () => this.cut());
  }

  /** Nothing arrives any more, and neither end learns of it. */
  mute() {
    this.muted = true;
    this.#ends.request[0].resume();
  }

  /** The client is cut off, and the server still has its connection. */
  strand() {
    const [client, server] = this.#ends.request;
    this.muted = true;
    client.removeAllListeners("close").destroy();
    server.on("close", () => this.onClose());
  }

  async delay(at, frame) {
    await sleep(this.#random.int(1, MAX_DELAY_MS));
    this.send(at, frame);
  }

  /** The client is cut off, and has come back when the server reads its request. */
  async deliverLate(frame) {
    const [client, server] = this.#ends.request;
    this.muted = true;
    client.removeAllListeners("close").destroy();
    await sleep(this.#random.int(1, MAX_DELAY_MS));
    server.write(frame);
    await sleep(MAX_DELAY_MS);
    this.cut();
  }

  /** Everything that the client has sent on this connection arrives once more on another one. */
  repeat(frame) {
    const server = this.#ends.request[1];
    const { remotePort } = server;
    // The server was just killed, and this connection with it.
    if (remotePort === undefined) return;
    server.write(frame);
    const second = connect(remotePort, "127.0.0.1").on("error", () => {});
    second.write(Buffer.concat(this.#sent));
    this.isSpared = this.isByAddress;
    second.resume().setTimeout(10 * MAX_DELAY_MS, () => second.destroy());
    second.once("close", () => (this.isSpared = false));
  }
}

/** Calls back with the head of the handshake, then with each frame. */
function splitter(onUnit) {
  let kept = Buffer.alloc(0);
  let isHead = true;
  return (chunk) => {
    kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    for (;;) {
      const size = isHead ? headSize(kept) : frameSize(kept);
      if (size > kept.length) return;
      onUnit(kept.subarray(0, size));
      kept = kept.subarray(size);
      isHead = false;
    }
  };
}

function headSize(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  return end < 0 ? Number.POSITIVE_INFINITY : end + 4;
}

/** The size of the frame at the beginning of these bytes; infinite while its header has not arrived. */
function frameSize(bytes) {
  if (bytes.length < 2) return Number.POSITIVE_INFINITY;
  const short = bytes[1] & 0x7f;
  const header = (bytes[1] & 0x80 ? 6 : 2) + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (bytes.length < header) return Number.POSITIVE_INFINITY;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  return header + length;
}

function half(frame) {
  return frame.subarray(0, Math.ceil(frame.length / 2));
}
