import type { FrameExchange, RecordedAnswer, Recording } from "./load.js";
import { playHttp } from "./play-http.js";
import { openSocket } from "./socket.js";
import type { Stage } from "./stage.js";

/** Cases that are not a sequence of frames. Each function returns the answer in the format of its row. */
export const SPECIALS: Readonly<Record<string, (stage: Stage, row: Recording) => Promise<RecordedAnswer>>> = {
  "ws/handshake-headers": handshake,
  "ws/client-close-handshake": clientClose,
  "ws/frame-too-big": tooBig,
  "mcp-ws/attach/survives-detach": comeBack,
  "timeouts/server-keepalive": keepalive,
  "timeouts/sessions-run-in-parallel": parallel,
  "timeouts/server-shutdown": shutDown,
  "edge/no-pong": silentPeer,
  "openapi/simulation": openApiSummary,
  "openapi/production": openApiSummary,
  "web/openapi-paths": openApiPaths,
  "web/ws-ui": watchEpisode,
};

async function handshake(stage: Stage): Promise<RecordedAnswer> {
  const { headers, socket } = await openSocket(`${stage.url}/ws`, { perMessageDeflate: true });
  await socket.close();
  return { response_headers: headers as Record<string, string> };
}

async function clientClose(stage: Stage): Promise<RecordedAnswer> {
  const socket = await stage.hold();
  socket.ws.close(1000);
  return { server_answer_code: await socket.closed };
}

/** Of a text frame from a client, with an empty mask. */
const HEAD = { bytes: 14, opcode: 0x81, masked64: 0xff };
const TOO_BIG = 17 * 1024 * 1024;

/** Sends the head of the frame only: the failure to write the rest to a closed connection could hide why it was closed. */
async function tooBig(stage: Stage): Promise<RecordedAnswer> {
  const { socket, stream } = await openSocket(`${stage.url}/ws`);
  const head = Buffer.alloc(HEAD.bytes);
  head.set([HEAD.opcode, HEAD.masked64]);
  head.writeBigUInt64BE(BigInt(TOO_BIG), 2);
  stream.write(head);
  const code = await socket.closedByServer();
  return { recv: socket.frames, ...(code !== undefined && { closed_by_server: { code } }) };
}

/** A peer that misses two pings is dropped: that more of them come shows that the answers arrive. */
const PINGS = 4;

async function keepalive(stage: Stage): Promise<RecordedAnswer> {
  const socket = await stage.hold();
  for (let i = 0; i < PINGS; i++) {
    await Promise.race([new Promise((resolve) => socket.ws.once("ping", resolve)), socket.closed]);
  }
  return { frames: socket.code === undefined ? ["in PING", "out PONG"] : ["in PING"] };
}

/** Sends each step on a separate socket, all attached to one session. */
async function comeBack(stage: Stage, row: Recording): Promise<RecordedAnswer> {
  await stage.createSession("<id>");
  const steps: FrameExchange[] = [];
  for (const { send } of row.steps ?? []) {
    const socket = await stage.hold(row.path);
    await socket.send(JSON.stringify(send));
    steps.push({ recv: await socket.take(1) });
    await socket.send(JSON.stringify({ type: "close" }));
    await socket.closed;
    await stage.until(async () => (await stage.server.sessions()).every(({ attached }) => !attached));
  }
  return { steps };
}

async function parallel(stage: Stage): Promise<RecordedAnswer> {
  const slow = await stage.hold();
  const fast = await stage.hold();
  await slow.send(JSON.stringify({ type: "step", data: { amount: 50 } }));
  await fast.send(JSON.stringify({ type: "step", data: { amount: 1 } }));
  const recv = await fast.take(1);
  return { recv, other_socket_answered_fast: slow.frames.length === 0 };
}

async function shutDown(stage: Stage): Promise<RecordedAnswer> {
  const socket = await stage.hold();
  await stage.server.close();
  return { closed_by_server: { code: await socket.closed } };
}

async function silentPeer(stage: Stage): Promise<RecordedAnswer> {
  const { socket } = await openSocket(`${stage.url}/ws`, { autoPong: false });
  const code = await socket.closed;
  await stage.until(async () => (await stage.countActive()) === 0);
  return { closed_by_server: { code } };
}

/** Repeats the recorded visitor with two steps; the page connects later with the same cookie. */
async function watchEpisode(stage: Stage, row: Recording): Promise<RecordedAnswer> {
  const headers: Record<string, string> = {};
  const post = async (path: string, body: object): Promise<void> => {
    const request = { case: row.case, env: row.env, method: "POST", path, body, headers };
    const { response_headers } = await playHttp(request, stage.url);
    const [cookie] = (response_headers?.["set-cookie"] as unknown as string[] | undefined) ?? [];
    if (cookie !== undefined) headers["cookie"] = cookie.split(";")[0] as string;
  };
  const step = (amount: number): Promise<void> => post("/web/step", { action: { amount } });
  await post("/web/reset", { seed: 1, episode_id: "w1", start: 2 });
  await step(2);
  await step(2);
  const { socket } = await openSocket(`${stage.url}${row.path}`, { headers });
  const answer: RecordedAnswer = { recv_on_connect: await socket.take(1) };
  await post("/web/reset", {});
  answer["recv_after_reset"] = await socket.take(1);
  await step(1);
  answer["recv_after_step"] = await socket.take(1);
  await socket.send("anything");
  answer["recv_after_client_text"] = await socket.take(0);
  await socket.close();
  if (socket.frames.length > 0) answer["unsolicited"] = socket.frames;
  return answer;
}

interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, unknown> };
}

const METHODS = ["get", "post", "put", "delete", "patch"];

async function openApiPaths(stage: Stage, row: Recording): Promise<RecordedAnswer> {
  const { status = 0, response_summary } = await openApiSummary(stage, row);
  return { status, paths: (response_summary as { paths: unknown }).paths };
}

async function openApiSummary(stage: Stage, row: Recording): Promise<RecordedAnswer> {
  const { status = 0, response } = await playHttp(row, stage.url);
  const { openapi, info, paths, components } = response as OpenApi;
  return {
    status,
    response_summary: {
      openapi,
      info: { title: info.title, version: info.version },
      paths: Object.fromEntries(
        Object.entries(paths).map(([path, item]) => [path, Object.keys(item).filter((key) => METHODS.includes(key))]),
      ),
      schemas: Object.keys(components.schemas).sort(),
    },
  };
}
