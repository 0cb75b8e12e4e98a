import type { Ids } from "./ids.js";
import type { FrameExchange, RecordedAnswer, Recording } from "./load.js";
import { openSocket, type ReplaySocket } from "./socket.js";

export interface SocketPlace {
  url: string;
  ids: Ids;
  /** Pause in milliseconds after the first of several steps. */
  pauseMs?: number | undefined;
}

/** Replays a recorded exchange on a socket and returns the answer in the format of the recordings. */
export async function playSocket(row: Recording, place: SocketPlace): Promise<RecordedAnswer> {
  const url = `${place.url}${place.ids.apply(row.path)}`;
  const { refused, headers, socket } = await openSocket(url, { headers: row.headers ?? {} });
  if (refused !== undefined) return { connect_error: `HTTP ${refused}` };
  const answer: RecordedAnswer = { response_headers: headers as Record<string, string> };
  if (row.setup) answer.setup = await playAll(socket, row.setup, place);
  if (row.steps) answer.steps = await playAll(socket, row.steps, place);
  else answer.recv = await playMain(socket, row, place);
  if (row.after) answer.after = await playAll(socket, row.after, place);
  await finish(socket, row, answer);
  return answer;
}

/** Replays on several sockets at the same time, each with its own session. */
export async function playConnections(row: Recording, place: SocketPlace): Promise<RecordedAnswer> {
  const connections: Record<string, FrameExchange> = {};
  const sockets: ReplaySocket[] = [];
  for (const [name, exchange] of Object.entries(row.connections ?? {})) {
    const { socket } = await openSocket(`${place.url}${row.path}`);
    sockets.push(socket);
    connections[name] = await playOne(socket, exchange, place);
  }
  for (const socket of sockets) await socket.close();
  return { connections };
}

async function playMain(socket: ReplaySocket, row: Recording, place: SocketPlace): Promise<unknown[]> {
  if (!row.send_all) return (await playOne(socket, row, place)).recv ?? [];
  for (const message of row.send_all) await socket.send(JSON.stringify(message));
  return socket.take(row.recv?.length ?? 0);
}

async function playAll(socket: ReplaySocket, exchanges: FrameExchange[], place: SocketPlace): Promise<FrameExchange[]> {
  const played: FrameExchange[] = [];
  for (const [index, exchange] of exchanges.entries()) {
    if (index === 1 && place.pauseMs) await new Promise((resolve) => setTimeout(resolve, place.pauseMs));
    played.push(await playOne(socket, exchange, place));
  }
  return played;
}

async function playOne(socket: ReplaySocket, exchange: FrameExchange, { ids }: SocketPlace): Promise<FrameExchange> {
  if (exchange.send !== undefined) await socket.send(JSON.stringify(ids.apply(exchange.send)));
  if (exchange.send_text !== undefined) await socket.send(exchange.send_text);
  if (exchange.send_binary_base64) await socket.send(Buffer.from(exchange.send_binary_base64, "base64"));
  const recv = await socket.take(exchange.recv?.length ?? 0);
  ids.learn(exchange.recv, recv);
  return { recv };
}

/** Adds an unexpected close and unsolicited frames to the answer. */
async function finish(socket: ReplaySocket, row: Recording, answer: RecordedAnswer): Promise<void> {
  const code = row.closed_by_server ? await socket.closedByServer() : socket.code;
  if (code === undefined) await socket.close();
  else answer.closed_by_server = { code };
  if (socket.frames.length > 0) answer["unsolicited"] = socket.frames;
}
