import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineContract, defineEnvironment } from "openenv-ts";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { copyFileJournal } from "../../../../test-support/journals/file-journal.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-ors-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let files = 0;
let journal = "";
/** The amounts of all steps that ran, and the seeds of all resets. */
let ran: number[] = [];
let resets: (number | undefined)[] = [];
/** Steps of 50, and resets with the seed 50, end when the test says so. */
let goOn = (): void => {};
beforeEach(() => {
  journal = join(folder, `${++files}.db`);
  ran = [];
  resets = [];
});

const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ text: z.string() }),
});

function tally(isRestorable: boolean) {
  return defineEnvironment(contract, () => {
    let count = 0;
    const held = (): Promise<void> => new Promise((resolve) => (goOn = resolve));
    return {
      reset: async ({ seed = 0 }) => {
        resets.push(seed);
        if (seed === 50 && resets.length === 1) await held();
        return { observation: { text: `begin at ${(count = seed)}` } };
      },
      step: async ({ amount }) => {
        ran.push(amount);
        if (amount === 50 && ran.length === 1) await held();
        return { observation: { text: `${(count += amount)}` }, reward: amount };
      },
      ...(isRestorable && {
        snapshot: () => count,
        restore: (saved: unknown) => void (count = saved as number),
      }),
    };
  });
}

async function start(isRestorable = true) {
  const server = await servers.start({ journal }, { environment: tally(isRestorable) as never });
  return { server, ors: orsClient(server.url) };
}

/** A server that has what is in the journal now, as if the one before had been killed. */
async function afterKill(isRestorable = true) {
  const before = journal;
  journal = join(folder, `${++files}.db`);
  await copyFileJournal(before, journal);
  return start(isRestorable);
}

const prompt = (ors: ReturnType<typeof orsClient>, id: string) => ors.request("GET", "/tally_env/prompt", { id });
const textOf = (result: unknown): string | undefined =>
  (result as { output?: { blocks: { text: string }[] } } | undefined)?.output?.blocks[0]?.text;

test("with a journal two requests at once open one session", async () => {
  const { server, ors } = await start();
  const id = await ors.newId();
  const body = { split: "train", index: 3 };
  const created = await Promise.all([1, 2, 3].map(() => ors.request("POST", "/create", { id, body })));
  expect(created.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await ors.request("POST", "/ping", { id })).status).toBe(200);
  expect((await server.sessions()).length).toBe(1);
  expect(resets).toEqual([3]);
});

describe("after its server was killed, with a journal, a session", () => {
  test("continues with the next call, as if nothing had happened", async () => {
    const { ors } = await start();
    const id = await ors.open({ split: "train", index: 7 });
    await ors.call(id, "step", { amount: 1 });
    const { ors: next, server } = await afterKill();
    expect((await next.request("POST", "/ping", { id })).status).toBe(200);
    const { result } = await next.call(id, "step", { amount: 2 });
    expect(result).toMatchObject({ ok: true, output: { blocks: [{ text: "10" }], reward: 2 } });
    expect((await server.sessions())[0]).toMatchObject({ session_id: id, step_count: 2 });
    expect(resets).toEqual([7]);
  });

  test("returns the result of a call whose client comes back, and does not make it again", async () => {
    const { ors } = await start();
    const id = await ors.open();
    const older = await ors.call(id, "step", { amount: 1 });
    const first = await ors.call(id, "step", { amount: 2 });
    const { ors: next } = await afterKill();
    const again = await next.call(id, "step", { amount: 2 }, { task_id: first.taskId });
    expect(again.text).toBe(first.text);
    expect(ran).toEqual([1, 2]);
    expect((await next.call(id, "step", { amount: 1 }, { task_id: older.taskId })).error).toBe("unknown task_id");
    expect((await next.call(id, "step", { amount: 3 }, { task_id: first.taskId })).error).toMatch(/another request/);
    expect(ran).toEqual([1, 2]);
  });

  test("makes a call that had no result when its client comes back, once", async () => {
    const { server, ors } = await start();
    const id = await ors.open();
    await ors.call(id, "step", { amount: 1 });
    ran = [];
    const response = await fetch(`${server.url}/tally_env/call`, {
      method: "POST",
      headers: { "x-session-id": id, "content-type": "application/json" },
      body: JSON.stringify({ name: "step", input: { amount: 50 } }),
    });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    const task_id = /data: (\S+)/.exec(new TextDecoder().decode(value))?.[1];
    const { ors: next } = await afterKill();
    const again = await next.call(id, "step", { amount: 50 }, { task_id });
    expect([textOf(again.result), again.taskId]).toEqual(["51", task_id]);
    expect((await next.call(id, "step", { amount: 50 }, { task_id })).text).toBe(again.text);
    expect(textOf((await next.call(id, "step", { amount: 1 })).result)).toBe("52");
    // Once in each process.
    expect(ran).toEqual([50, 50, 1]);
    goOn();
    await reader?.cancel();
  });

  test("has its prompt, also if the server was killed during the reset", async () => {
    const { ors } = await start();
    const ids = [await ors.open({ split: "train", index: 50 }), await ors.open({ split: "train", index: 3 })];
    expect((await prompt(ors, ids[1] as string)).status).toBe(200);
    const { ors: next } = await afterKill();
    const prompts = await Promise.all(ids.map((id) => prompt(next, id)));
    expect(prompts.map(({ json }) => json)).toEqual([
      [{ type: "text", text: "begin at 50" }],
      [{ type: "text", text: "begin at 3" }],
    ]);
    expect(textOf((await next.call(ids[0] as string, "step", { amount: 1 })).result)).toBe("51");
    goOn();
  });

  test("has one prompt for two requests, and none while its first call runs", async () => {
    const { ors } = await start();
    const ids = [await ors.open({ split: "train", index: 7 }), await ors.open({ split: "train", index: 8 })] as const;
    for (const id of ids) await prompt(ors, id);
    const { ors: next } = await afterKill();
    const prompts = await Promise.all([prompt(next, ids[0]), prompt(next, ids[0])]);
    expect(prompts.map(({ status }) => status)).toEqual([200, 200]);
    expect(resets).toEqual([7, 8, 7]);
    const running = next.call(ids[1], "step", { amount: 50 });
    await expect.poll(() => ran).toEqual([50]);
    expect((await prompt(next, ids[1])).status).toBe(404);
    goOn();
    expect(textOf((await running).result)).toBe("58");
    expect(resets).toEqual([7, 8, 7]);
  });

  test("is opened by a repeated request, and its prompt is not made again after the first step", async () => {
    const { ors } = await start();
    const body = { split: "train", index: 3 };
    const id = await ors.open(body);
    await prompt(ors, id);
    const { ors: next } = await afterKill();
    const repeated = await next.request("POST", "/create", { id, body });
    expect([repeated.status, repeated.json]).toEqual([200, { sid: id }]);
    const other = await next.request("POST", "/create", { id, body: { split: "train", index: 4 } });
    expect(other.status).toBe(400);
    await next.call(id, "step", { amount: 1 });
    const { ors: last } = await afterKill();
    expect((await last.request("POST", "/create", { id, body })).status).toBe(400);
    expect((await prompt(last, id)).status).toBe(404);
    expect(textOf((await last.call(id, "step", { amount: 1 })).result)).toBe("5");
  });

  test("that cannot be restored is 410 with the reason, and one that was deleted is unknown", async () => {
    const { ors } = await start(false);
    const [lost, deleted] = [await ors.open(), await ors.open()];
    await ors.call(lost, "step", { amount: 1 });
    await ors.request("POST", "/delete", { id: deleted });
    const { ors: next } = await afterKill(false);
    const call = await next.call(lost, "step", { amount: 1 });
    expect([call.status, (call.json as { detail: string }).detail]).toEqual([
      410,
      expect.stringMatching(/snapshot\(\)/),
    ]);
    expect((await next.request("POST", "/ping", { id: deleted })).status).toBe(404);
  });
});
