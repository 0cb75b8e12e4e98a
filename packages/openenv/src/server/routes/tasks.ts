import type { TaskMethod, TaskProvider } from "../../environment/tasks/tasks.js";
import { listTasksRequest, numTasksRequest, taskRangeRequest, taskRequest } from "../../protocol/bodies.js";
import { errorData } from "../../protocol/messages.js";
import { askTasks } from "../../session/calls/ask-tasks.js";
import { clip } from "../../util/text/clip.js";
import { sendDetail, sendFailure, sendJson } from "../http/respond.js";
import { type RequestContext, type Route, withCheckedBody } from "../http/router.js";

/** `GET /list_environments`. */
export const LIST_ROUTES: Record<string, Route> = {
  "/list_environments": {
    GET: ({ response, context }) => sendJson(response, 200, [context.runtime.definition.contract.name]),
  },
};

/** The Task API below `/{environment}/`. The name is compared without regard to case. */
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
  const { name } = ctx.context.runtime.definition.contract;
  return withCheckedBody(ctx, listTasksRequest, ({ split }) =>
    answer(ctx, "list", [split], (tasks) => ({ tasks, env_name: name })),
  );
}

function numTasks(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, numTasksRequest, ({ split }) =>
    answer(ctx, "count", [split], (num_tasks) => ({ num_tasks })),
  );
}

function task(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, taskRequest, ({ split, index }) =>
    answer(ctx, "get", [split, index], (task) => ({ task })),
  );
}

function taskRange(ctx: RequestContext): Promise<void> {
  return withCheckedBody(ctx, taskRangeRequest, ({ split, start, stop }) =>
    answer(ctx, "range", [split, start ?? undefined, stop ?? undefined], (tasks) => ({ tasks })),
  );
}

async function answer<K extends TaskMethod>(
  ctx: RequestContext,
  method: K,
  args: Parameters<NonNullable<TaskProvider[K]>>,
  render: (value: unknown) => object,
): Promise<void> {
  const { path, response, context } = ctx;
  const { name } = context.runtime.definition.contract;
  const asked = path.split("/")[1] ?? "";
  if (asked.toLowerCase() !== name.toLowerCase()) {
    return sendDetail(response, 404, `unknown environment '${clip(asked, 100)}'; this is '${name}'`);
  }
  const found = await askTasks(context.runtime, method, args);
  if ("value" in found) return sendJson(response, 200, render(found.value), context.runtime.maxAnswerBytes);
  if (found.status === 500) return sendFailure(ctx, errorData("EXECUTION_ERROR", found.message));
  sendDetail(response, found.status, found.message);
}
