/** What one peer, or a few, can send to a server to exhaust it. Bounded in bytes; each ends when it is disposed. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createFrameReader, encodeFrame, OPCODE } from "../../packages/bench/src/ws-codec.js";
import { openRawPeer, type RawPeer } from "./raw-peer.js";

const BLOCK_BYTES = 64 * 1024;

export interface Flood extends AsyncDisposable {
  readonly peer: RawPeer;
  /** Bytes of the flood that the system has taken from this process. */
  readonly takenBytes: number;
  /** Text frames that the server sent, if they are read. */
  readonly answers: number;
  /** All has been sent, or the socket has closed. */
  readonly sent: Promise<void>;
}

export interface FloodOptions {
  /** Frames to send. */
  count: number;
  /** Content of each frame; empty by default. */
  payload?: Buffer;
  opcode?: number;
  /** Messages to send first, such as a step that takes its time. */
  before?: object[];
  path?: string;
  /** Receives the answers; without it nothing is read. */
  onAnswer?: (payload: Buffer) => void;
}

/** One connection sends many frames without waiting for answers, as fast as the server reads them. */
export async function flood(url: string, options: FloodOptions): Promise<Flood> {
  const { count, payload = Buffer.alloc(0), opcode = OPCODE.text, before = [], path, onAnswer } = options;
  const peer = await openRawPeer(url, path);
  const { socket } = peer;
  let answers = 0;
  if (onAnswer !== undefined) {
    const read = createFrameReader((kind, content) => {
      if (kind !== OPCODE.text) return;
      answers++;
      onAnswer(content);
    });
    socket.on("data", read).resume();
  }
  peer.send(...before);
  const start = socket.bytesWritten;
  const frame = encodeFrame(opcode, payload);
  const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / frame.length));
  const block = Buffer.concat(Array<Buffer>(perBlock).fill(frame));
  const send = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    for (let left = count; left > 0 && !socket.destroyed; left -= perBlock) {
      const part = left < perBlock ? block.subarray(0, left * frame.length) : block;
      if (!socket.write(part)) {
        await Promise.race([new Promise<void>((resolve) => socket.once("drain", resolve)), closed]);
      }
    }
  };
  const sent = send();
  return {
    peer,
    get takenBytes() {
      return socket.bytesWritten - start - socket.writableLength;
    },
    get answers() {
      return answers;
    },
    sent,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await sent;
    },
  };
}

/** So many connections send a frame of `bytes` except for its last byte. */
export async function sendUnfinished(url: string, { peers, bytes }: { peers: number; bytes: number }) {
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(bytes, 0x20));
  const floods: RawPeer[] = [];
  for (let i = 0; i < peers; i++) {
    const peer = await openRawPeer(url);
    floods.push(peer);
    peer.socket.write(frame.subarray(0, -1));
  }
  return {
    peers: floods,
    [Symbol.asyncDispose]: async () => {
      for (const { socket } of floods) socket.destroy();
      await sleep(0);
    },
  };
}

/** So many HTTP requests to `/step` whose bodies lack the last byte until they are completed. */
export async function sendUnfinishedBodies(port: number, { peers, body }: { peers: number; body: Buffer }) {
  const head = `POST /step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const sockets = Array.from({ length: peers }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(head);
    socket.write(body.subarray(0, -1));
    return socket;
  });
  const readStatus = async (socket: Socket): Promise<number> => {
    const [answer] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [unknown];
    return Number(String(answer).split(" ", 2)[1]);
  };
  const statuses = sockets.map(readStatus);
  return {
    /** All that was written has been taken by the system. */
    get isSent() {
      return sockets.every(({ writableLength }) => writableLength === 0);
    },
    /** Sends the last bytes, all at once; the statuses of the answers, NaN for a connection that closed without one. */
    complete(): Promise<number[]> {
      for (const socket of sockets) socket.write(body.subarray(-1));
      return Promise.all(statuses);
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await sleep(0);
    },
  };
}

/** The most memory that a process ever had resident, bytes. */
export function peakMemory(pid: number): number {
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}
