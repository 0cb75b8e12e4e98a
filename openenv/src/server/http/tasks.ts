import { normaliseSplit, type TaskProvider } from "../../env/tasks.js";
import { describeError } from "../failure.js";
import { BodyFields } from "./fields.js";
import { sendFailure, sendInvalid, sendJson } from "./respond.js";
import { type Exchange, type Route, withBody } from "./router.js";

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

async function splits(exchange: Exchange): Promise<void> {
  await withProvider(exchange, "splits", async (list) => {
    sendJson(exchange.response, 200, (await list()).map(normaliseSplit));
  });
}

function tasks(exchange: Exchange): Promise<void> {
  return withFields(exchange, ["split"], (fields) => {
    const split = fields.string("split");
    return () =>
      withProvider(exchange, "list", async (list) => {
        const { name } = exchange.context.runtime.definition.contract;
        sendJson(exchange.response, 200, { tasks: await list(split), env_name: name });
      });
  });
}

function numTasks(exchange: Exchange): Promise<void> {
  return withFields(exchange, ["split"], (fields) => {
    const split = fields.string("split");
    return () =>
      withProvider(exchange, "count", async (count) => {
        sendJson(exchange.response, 200, { num_tasks: await count(split) });
      });
  });
}

function task(exchange: Exchange): Promise<void> {
  return withFields(exchange, ["split", "index"], (fields) => {
    const split = fields.string("split");
    const index = fields.integer("index");
    return () =>
      withProvider(exchange, "get", async (get) => {
        const found = await get(split, index);
        if (found === undefined) throw new RangeError(`no task ${index} in ${split}`);
        sendJson(exchange.response, 200, { task: found });
      });
  });
}

function taskRange(exchange: Exchange): Promise<void> {
  return withFields(exchange, ["split", "start", "stop"], (fields) => {
    const split = fields.string("split");
    const start = fields.optionalInteger("start");
    const stop = fields.optionalInteger("stop");
    return () =>
      withProvider(exchange, "range", async (range) => {
        sendJson(exchange.response, 200, { tasks: await range(split, start, stop) });
      });
  });
}

/** Reads the body's members, refuses what is wrong with them, then goes on. */
function withFields(
  exchange: Exchange,
  known: string[],
  read: (fields: BodyFields) => () => Promise<void>,
): Promise<void> {
  return withBody(exchange, async (body) => {
    if (body === undefined) {
      return sendInvalid(exchange.response, [{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
    }
    const fields = new BodyFields(body);
    const proceed = read(fields);
    fields.only(...known);
    if (fields.issues.length > 0) return sendInvalid(exchange.response, fields.issues);
    await proceed();
  });
}

type Method<K extends keyof TaskProvider> = NonNullable<TaskProvider[K]>;

async function withProvider<K extends keyof TaskProvider>(
  { path, response, context }: Exchange,
  method: K,
  use: (call: Method<K>) => Promise<void>,
): Promise<void> {
  const { name } = context.runtime.definition.contract;
  const asked = decodeName(path.split("/")[1] ?? "");
  if (asked.toLowerCase() !== name.toLowerCase()) {
    return sendJson(response, 404, { detail: `unknown environment '${asked.slice(0, 100)}'; this is '${name}'` });
  }
  const provider = context.runtime.definition.tasks;
  const call = provider?.[method];
  if (call === undefined) {
    return sendJson(response, 501, { detail: `'${name}' has no tasks: its task provider has no ${method}()` });
  }
  try {
    await use(call.bind(provider) as Method<K>);
  } catch (error) {
    if (error instanceof RangeError) return sendJson(response, 400, { detail: "Invalid task index" });
    const { log, mode } = context.runtime;
    log.warn({ err: error }, `the task provider failed in ${method}`);
    sendFailure(response, { code: "EXECUTION_ERROR", message: describeError(error, mode) });
  }
}

function decodeName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
