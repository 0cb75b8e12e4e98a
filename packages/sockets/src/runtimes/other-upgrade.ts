import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { RunQueue } from "../scheduling/run-queue.js";
import { findPipeline } from "./pipeline.js";

/** True for the offer of a WebSocket. Others offer another protocol (`h2c`) and accept an answer in HTTP/1.1. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Answers a request as if it offered no other protocol. Node has detached its connection from HTTP. The only way back is
 * to put the request, without the offer, in front of the unread data, after the requests before it were answered. That
 * copies the data and makes another parser, so it waits for its turn: each of many pipelined requests may make an offer.
 */
export function ignoreUpgrade(server: Server, request: IncomingMessage, { socket, head, runQueue }: Taken): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const line = withoutOffer(rawHeaders[i] as string, rawHeaders[i + 1] as string);
    if (line !== undefined) lines.push(line);
  }
  const giveBack = (): void => {
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
    server.emit("connection", socket);
  };
  // Without a listener, an error would end the process.
  socket.on("error", ignore);
  void runQueue.turn().then(() => {
    socket.off("error", ignore);
    if (socket.destroyed) return;
    const pipeline = findPipeline(socket);
    if (pipeline === undefined) giveBack();
    else pipeline.takeBack(giveBack);
  });
}

function ignore(): void {}

export interface Taken {
  socket: Duplex;
  /** The bytes after the head of the request. */
  head: Buffer;
  runQueue: RunQueue;
}

function withoutOffer(name: string, value: string): string | undefined {
  const key = name.toLowerCase();
  if (key === "upgrade" || key === "http2-settings") return undefined;
  if (key !== "connection") return `${name}: ${value}`;
  const kept = value.split(",").filter((token) => !/^\s*(upgrade|http2-settings)\s*$/i.test(token));
  return kept.length === 0 ? undefined : `${name}: ${kept.join(",")}`;
}
