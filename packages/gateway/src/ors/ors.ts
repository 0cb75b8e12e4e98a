import type { Host, HostError, HostRequest } from "../host.js";
import {
  callRequest,
  createRequest,
  createSessionRequest,
  splitRequest,
  taskRangeRequest,
  taskRequest,
} from "./bodies.js";
import { call } from "./call.js";
import { sendId } from "./event-stream.js";
import { Refusal, SessionFailure } from "./refusal.js";
import { OrsSessions, STARTING } from "./sessions.js";
import { OrsTasks } from "./tasks.js";

type Handler = (ctx: HostRequest) => void | Promise<void>;

const MAX_DETAIL = 2_000;
const BLOCK_TYPES = ["text", "image"];
const LATER = ["CAPACITY_REACHED", "JOURNAL_UNAVAILABLE", "SESSION_ELSEWHERE"];

/** Answers every request of ORS, the Open Reward Standard. */
export function createOrs(host: Host): Handler {
  const { parts, context } = host;
  const name = context.runtime.definition.contract.name.toLowerCase();
  const routes = new Map(Object.entries({ ...rootRoutes(host, name) }));
  const below = new Map(Object.entries(environmentRoutes(host, name)));
  const sessions = new OrsSessions(host);
  const ofSession = new Map(Object.entries(sessionRoutes(host, name, sessions)));
  return async (ctx) => {
    const { response, path } = ctx;
    const [, first = "", second] = path.split("/");
    try {
      if (second !== undefined && first.toLowerCase() !== name) {
        throw new Refusal(404, `unknown environment '${first.slice(0, 100)}'; this is '${name}'`);
      }
      const key = second ?? first;
      const open = second === undefined ? routes.get(key) : below.get(key);
      if (open !== undefined) return await open(ctx);
      const id = sessionId(ctx);
      if (await parts.passToWorker(ctx, sessions.key(id))) return;
      await ofSession.get(key)?.(ctx, id);
    } catch (error) {
      if (error instanceof SessionFailure) return parts.sendFailure(ctx, error.data);
      if (error instanceof parts.SessionRejectedError) return refuse(host, ctx, error.data);
      if (!(error instanceof Refusal)) throw error;
      for (const [header, value] of Object.entries(error.headers)) response.setHeader(header, value);
      // It may repeat half a character of the request, which cannot be sent.
      parts.sendDetail(response, error.status, parts.clip(error.message, MAX_DETAIL));
    }
  };
}

/** When the server is full or its journal is unavailable, nothing has run: the client waits as for a session that starts. */
function refuse({ parts }: Host, ctx: HostRequest, data: HostError): void {
  if (LATER.includes(data.code)) {
    for (const [header, value] of Object.entries(STARTING)) ctx.response.setHeader(header, value);
  }
  parts.sendFailure(ctx, data);
}

/** @throws Refusal (400) */
function sessionId({ request }: HostRequest): string {
  const id = request.headers["x-session-id"];
  if (typeof id === "string" && id.trim() !== "") return id.trim();
  throw new Refusal(400, "X-Session-ID header is required");
}

/** What needs no session. */
function rootRoutes({ parts, context }: Host, name: string): Record<string, Handler> {
  return {
    list_environments: ({ response }) => parts.sendJson(response, 200, [name]),
    version: ({ response }) => parts.sendJson(response, 200, { version: parts.PACKAGE_VERSION, build_sha: null }),
    create_session: (ctx) =>
      parts.withBody(ctx, async (body = {}, text) => {
        const checked = createSessionRequest.safeParse(body);
        if (!checked.success) throw new Refusal(422, "the body of /create_session may have env and task_id");
        const { env, task_id } = checked.data;
        if (env != null && Object.keys(env).length > 0) {
          throw new Refusal(400, "env_overrides are not supported: set the variables of the server");
        }
        if (parts.passToRoom(ctx, text)) return;
        const isOurs = task_id?.startsWith(context.runtime.idPrefix) === true && /^[\w-]{16,128}$/.test(task_id);
        sendId(ctx.response, isOurs ? task_id : context.sessions.makeId());
      }),
  };
}

/** What is the same for all sessions. */
function environmentRoutes(host: Host, name: string): Record<string, Handler> {
  const { parts, context } = host;
  const tasks = new OrsTasks(host);
  const limit = context.runtime.maxAnswerBytes;
  const send = (ctx: HostRequest, body: object): void => parts.sendJson(ctx.response, 200, body, limit);
  return {
    tools: (ctx) => send(ctx, listTools(host)),
    splits: async (ctx) => send(ctx, await tasks.splits()),
    tasks: (ctx) =>
      parts.withCheckedBody(ctx, splitRequest, async ({ split }) =>
        send(ctx, { tasks: await tasks.list(split), env_name: name }),
      ),
    num_tasks: (ctx) =>
      parts.withCheckedBody(ctx, splitRequest, async ({ split }) => send(ctx, { num_tasks: await tasks.count(split) })),
    task: (ctx) =>
      parts.withCheckedBody(ctx, taskRequest, async ({ split, index }) =>
        send(ctx, { task: await tasks.get(split, index), env_name: name }),
      ),
    task_range: (ctx) =>
      parts.withCheckedBody(ctx, taskRangeRequest, async ({ split, start, stop }) =>
        send(ctx, { tasks: await tasks.range(split, start ?? undefined, stop ?? undefined), env_name: name }),
      ),
  };
}

type SessionHandler = (ctx: HostRequest, id: string) => void | Promise<void>;

/** What a session does. */
function sessionRoutes(host: Host, name: string, sessions: OrsSessions): Record<string, SessionHandler> {
  const { parts, context } = host;
  const tasks = new OrsTasks(host);
  const end: SessionHandler = async (ctx, id) => {
    await sessions.delete(ctx, id);
    parts.sendJson(ctx.response, 200, { sid: id });
  };
  return {
    create: (ctx, id) =>
      parts.withCheckedBody(ctx, createRequest, async (body) => {
        const { env_name, task_spec, split, index, toolset_name } = body;
        if (env_name != null && env_name.toLowerCase() !== name) {
          throw new Refusal(404, `unknown environment '${env_name.slice(0, 100)}'; this is '${name}'`);
        }
        const [hasSpec, hasSplit, hasIndex] = [task_spec != null, split != null, index != null];
        if (hasSplit !== hasIndex || hasSpec === hasSplit) {
          throw new Refusal(422, "Provide either task_spec, or both split and index");
        }
        if (toolset_name != null) throw new Refusal(400, "this server has no toolsets: leave toolset_name out");
        await sessions.create(ctx, id, await tasks.toReset(body));
        parts.sendJson(ctx.response, 200, { sid: id });
      }),
    delete: end,
    delete_session: end,
    ping: async (ctx, id) => {
      await sessions.find(ctx, id);
      parts.sendJson(ctx.response, 200, { status: "ok" });
    },
    task_tools: async (ctx, id) => {
      await sessions.find(ctx, id);
      parts.sendJson(ctx.response, 200, listTools(host), context.runtime.maxAnswerBytes);
    },
    prompt: async (ctx, id) => {
      parts.sendJson(ctx.response, 200, await sessions.prompt(ctx, id), context.runtime.maxAnswerBytes);
    },
    messages: () => {
      throw new Refusal(404, "this server has no /messages: read /prompt");
    },
    score_group: () => {
      throw new Refusal(404, `Environment '${name}' does not implement score_group`);
    },
    call: (ctx, id) =>
      parts.withCheckedBody(ctx, callRequest, async (body) => {
        const { session } = await sessions.findReady(ctx, id);
        await call(host, ctx, session, body);
      }),
  };
}

function listTools({ parts, context }: Host): object {
  const tools = parts.listStepTools(context.runtime);
  return { tools, terminal_tool: null, supports_score_group: false, message_block_types: BLOCK_TYPES };
}
