import { once } from "node:events";
import { WebSocket } from "ws";
import { type BinaryCodec, loadBinary } from "../../packages/openenv/src/protocol/codec/binary.js";

type Json = Record<string, unknown>;

/** One answer, and how it came. */
export interface Framed {
  binary: boolean;
  frame: Json;
  size: number;
}

export interface BinarySocket extends AsyncDisposable {
  readonly codec: BinaryCodec;
  /** Sends bytes as a binary frame and text as a text frame; takes one answer. */
  ask(message: Uint8Array | string): Promise<Framed>;
  /** Sends MessagePack; takes one answer, which must be MessagePack too. */
  askPacked(message: unknown): Promise<Json>;
  readonly closed: Promise<number>;
}

/** A bare WebSocket that speaks both formats. The first frame is not sent yet. */
export async function openBinarySocket(url: string): Promise<BinarySocket> {
  const codec = await loadBinary();
  const ws = new WebSocket(url.replace(/^http/, "ws"), { perMessageDeflate: false });
  const waiting: ((answer: Framed) => void)[] = [];
  ws.on("message", (data: Buffer, binary: boolean) => {
    const frame = (binary ? codec.decode(data).value : JSON.parse(String(data))) as Json;
    waiting.shift()?.({ binary, frame, size: data.byteLength });
  });
  const closed = new Promise<number>((resolve) => ws.on("close", resolve));
  await once(ws, "open");
  ws.on("error", () => {});
  const ask = (message: Uint8Array | string): Promise<Framed> =>
    new Promise((resolve, reject) => {
      waiting.push(resolve);
      void closed.then((code) => reject(new Error(`the socket closed with ${code}`)));
      ws.send(message);
    });
  return {
    codec,
    closed,
    ask,
    async askPacked(message) {
      const { binary, frame } = await ask(codec.encode(message));
      if (!binary) throw new Error(`the answer is text: ${JSON.stringify(frame)}`);
      return frame;
    },
    async [Symbol.asyncDispose]() {
      ws.terminate();
      await closed;
    },
  };
}
