import type { TaskProvider } from "../../environment/tasks/tasks.js";
import { askTasks } from "../../session/calls/ask-tasks.js";
import { clip } from "../../util/text/clip.js";
import { BodyFields } from "../http/fields.js";
import { sendFailure, sendInvalid, sendJson } from "../http/respond.js";
import { type RequestContext, type Route, withBody } from "../http/router.js";

/** `GET /list_environments`. */
export const LIST_ROUTES: Record<string, Route> = {
  "/list_environments": {
    GET: ({ response, context }) => sendJson(response, 200, [context.runtime.definition.contract.name]),
  },
};

/** The Task API below `/{environment}/`; the name is compared without case. */
export const TASK_ROUTES: Record<string, Route> = {
  splits: { GET: splits },
  tasks: { POST: tasks },
  num_tasks: { POST: numTasks },
  task: { POST: task },
  task_range: { POST: taskRange },
};

async function splits(ctx: RequestContext): Promise<void> {
  await answer(ctx, "splits", [], (list) => list as object);
}

function tasks(ctx: RequestContext): Promise<void> {
  return withFields(ctx, ["split"], (fields) => {
    const split = fields.string("split");
    const { name } = ctx.context.runtime.definition.contract;
    return () => answer(ctx, "list", [split], (list) => ({ tasks: list, env_name: name }));
  });
}

function numTasks(ctx: RequestContext): Promise<void> {
  return withFields(ctx, ["split"], (fields) => {
    const split = fields.string("split");
    return () => answer(ctx, "count", [split], (count) => ({ num_tasks: count }));
  });
}

function task(ctx: RequestContext): Promise<void> {
  return withFields(ctx, ["split", "index"], (fields) => {
    const split = fields.string("split");
    const index = fields.integer("index");
    return () => answer(ctx, "get", [split, index], (found) => ({ task: found }));
  });
}

function taskRange(ctx: RequestContext): Promise<void> {
  return withFields(ctx, ["split", "start", "stop"], (fields) => {
    const split = fields.string("split");
    const start = fields.optionalInteger("start");
    const stop = fields.optionalInteger("stop");
    return () => answer(ctx, "range", [split, start, stop], (list) => ({ tasks: list }));
  });
}

/** Reads the body's members, refuses what is wrong with them, then goes on. */
function withFields(
  ctx: RequestContext,
  known: string[],
  read: (fields: BodyFields) => () => Promise<void>,
): Promise<void> {
  return withBody(ctx, async (body) => {
    if (body === undefined) {
      return sendInvalid(ctx, [{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
    }
    const fields = new BodyFields(body);
    const proceed = read(fields);
    fields.only(...known);
    if (fields.issues.length > 0) return sendInvalid(ctx, fields.issues);
    await proceed();
  });
}

async function answer<K extends keyof TaskProvider>(
  ctx: RequestContext,
  method: K,
  args: Parameters<NonNullable<TaskProvider[K]>>,
  render: (value: unknown) => object,
): Promise<void> {
  const { path, response, context } = ctx;
  const { name } = context.runtime.definition.contract;
  const asked = path.split("/")[1] ?? "";
  if (asked.toLowerCase() !== name.toLowerCase()) {
    return sendJson(response, 404, { detail: `unknown environment '${clip(asked, 100)}'; this is '${name}'` });
  }
  const found = await askTasks(context.runtime, method, args);
  if ("value" in found) return sendJson(response, 200, render(found.value), context.runtime.maxAnswerBytes);
  if (found.status === 500) return sendFailure(ctx, { code: "EXECUTION_ERROR", message: found.message });
  sendJson(response, found.status, { detail: found.message });
}
