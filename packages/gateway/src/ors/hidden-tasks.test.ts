import { createTasks, defineContract, defineEnvironment } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { expect, test } from "vitest";
import * as z from "zod";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();

const contract = defineContract({
  name: "quiz_env",
  action: z.object({ answer: z.string() }),
  observation: z.object({ question: z.string() }),
});
const environment = defineEnvironment(
  contract,
  () => {
    let answer: unknown;
    return {
      reset: ({ task }) => {
        answer = task?.["answer"];
        return { observation: { question: String(task?.["question"]) } };
      },
      step: (given) => ({ observation: { question: "" }, reward: given.answer === answer ? 1 : 0, done: true }),
    };
  },
  { tasks: createTasks({ train: [{ question: "1 + 1", answer: "canary-2" }] }, { hidden: ["answer"] }) },
);

test("hidden fields of a task reach the environment and no client", async () => {
  const server = await servers.start({}, { environment: environment as never });
  const visible = { question: "1 + 1" };
  const shown: unknown[] = [];
  for (const target of [server.url, environment] as const) {
    await using env = await connect(target as string);
    const { tasks } = env;
    const read = [await tasks.get("train", 0), await tasks.list("train"), await tasks.range("train", 0)];
    expect(read).toEqual([visible, [visible], [visible]]);
    expect(await tasks.splits()).toEqual([{ name: "train", type: "train" }]);
    shown.push(await env.reset({ split: "train", index: 0 }), await env.state());
    expect((await env.step({ answer: "canary-2" })).reward).toBe(1);
  }
  const ors = orsClient(server.url);
  const ask = async (path: string, body: object) =>
    (await ors.request("POST", `/quiz_env/${path}`, { id: "x", body })).json;
  const task = { ...visible, openenv: { split: "train", index: 0 } };
  expect(await ask("task", { split: "train", index: 0 })).toEqual({ task, env_name: "quiz_env" });
  expect(await ask("tasks", { split: "train" })).toEqual({ tasks: [task], env_name: "quiz_env" });
  // The task, as a client received it, is accepted as the task of a session.
  const created = await ors.request("POST", "/create", {
    id: await ors.newId(),
    body: { env_name: "quiz_env", task_spec: task },
  });
  expect(created.status).toBe(200);
  expect(JSON.stringify([shown, created.json])).not.toContain("canary-2");
});
