import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import benchmark from "../../../../envs/benchmark/server/environment.js";
import coding from "../../../../envs/coding/server/environment.js";
import echo from "../../../../envs/echo/server/environment.js";
import wordle from "../../../../envs/wordle/server/environment.js";
import { secretOf } from "../../../../envs/wordle/tasks.js";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { findPython } from "../../../../test-support/requirement.js";

const python = await findPython("openreward", { openreward: "0.1.167" });
const script = fileURLToPath(new URL("openreward_client.py", import.meta.url));

interface Step {
  blocks?: { type: string; text: string }[];
  reward?: number | null;
  finished?: boolean;
  refused?: string;
  failed?: string;
}

interface Seen {
  splits: string[];
  num_tasks: number;
  listed: number;
  tasks: object[];
  environment: string;
  tools: string[];
  sessions: { prompt: { text: string }[]; tools: string[]; scores: boolean; steps: Step[]; step_count: number }[];
}

interface Case {
  name: string;
  environment: EnvironmentDefinition;
  calls: [tool: string, input: object][];
  /** How many of the calls are steps. */
  steps: number;
  tools: string[];
  splits?: string[];
}

const secret = secretOf("train", 0);
const CASES: Case[] = [
  {
    name: "echo",
    environment: echo as never,
    calls: [
      ["echo_message", { message: "  hi" }],
      ["echo_with_length", { message: "hey" }],
      ["nothing", {}],
      ["echo_message", { other: 1 }],
    ],
    steps: 2,
    tools: ["echo_message", "echo_with_length"],
  },
  {
    name: "benchmark",
    environment: benchmark as never,
    calls: [
      ["step", { wait_seconds: 0.2 }],
      ["step", { wait_seconds: -1 }],
    ],
    steps: 1,
    tools: ["step"],
  },
  {
    name: "wordle",
    environment: wordle as never,
    calls: [
      ["step", { message: secret === "crane" ? "[slate]" : "[crane]" }],
      ["step", { message: `[${secret}]` }],
      ["step", { message: `[${secret}]` }],
    ],
    steps: 2,
    tools: ["step"],
    splits: ["train", "test"],
  },
  {
    name: "coding",
    environment: coding as never,
    calls: [
      ["step", { code: "x = 20" }],
      ["step", { code: "print(x + 1)\nprint(' ' * 9000)" }],
      ["step", { code: "1 / 0" }],
    ],
    steps: 3,
    tools: ["step"],
  },
];

async function play(url: string, plan: object): Promise<Seen> {
  const variables = { OPENREWARD_API_URL: url, OPENREWARD_SESSION_URL: url, NO_COLOR: "1" };
  const child = execFile(python.path, [script], { env: { ...process.env, ...variables }, maxBuffer: 1e8 });
  child.stdin?.end(JSON.stringify(plan));
  const [out, problems] = await Promise.all([text(child.stdout as never), text(child.stderr as never)]);
  if (out === "") throw new Error(problems);
  return JSON.parse(out) as Seen;
}

/** Cuts each connection on which the stream of a call has begun, once for each call. */
async function startCutter(target: string) {
  const { hostname, port } = new URL(target);
  const cut = { calls: 0 };
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          open.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    let isNewCall = false;
    client.on("data", (data: Buffer) => {
      const request = data.toString();
      // A repeated call names its task.
      if (request.includes("/call HTTP/1.1")) isNewCall = true;
      if (request.includes('"task_id"')) isNewCall = false;
      upstream.write(data);
    });
    upstream.on("data", (data: Buffer) => {
      const id = /event: task_id\ndata: \S+\n\n/.exec(data.toString());
      if (!isNewCall || id === null) return void client.write(data);
      isNewCall = false;
      cut.calls++;
      upstream.removeAllListeners("data");
      client.write(data.subarray(0, id.index + id[0].length));
      // The client first reads the id.
      setTimeout(() => client.destroy(), 100);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = async (): Promise<void> => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, [Symbol.asyncDispose]: end };
}

describe.skipIf(!python.available)("the SDK openreward 0.1.167", () => {
  test.each(CASES)(
    "lists, opens and plays $name",
    { timeout: 120_000 },
    async ({ environment, calls, steps, tools, splits }) => {
      await using server = await serve(environment, { port: 0, logLevel: "silent", orsSeeds: 20 });
      const seen = await play(server.url, { calls });
      expect(seen).toMatchObject({ splits: splits ?? ["train"], tools, environment: environment.contract.name });
      expect(seen.listed).toBe(seen.num_tasks);
      expect(seen.num_tasks).toBeGreaterThanOrEqual(20);
      expect(seen.tasks).toHaveLength(3);
      for (const session of seen.sessions) {
        expect(session).toMatchObject({ tools, scores: false, step_count: steps });
        expect(session.prompt[0]?.text).toBe(environment.contract.description);
        expect(session.steps).toHaveLength(calls.length);
        expect(session.steps.filter(({ blocks }) => blocks !== undefined)).toHaveLength(steps);
        expect(session.steps.some(({ failed }) => failed !== undefined)).toBe(false);
      }
      expect(await server.sessions()).toEqual([]);
      const named = await play(server.url, { calls, variant: environment.contract.name });
      expect(named.tasks).toEqual(seen.tasks);
    },
  );

  test("runs the program of the guide", { timeout: 120_000 }, async () => {
    await using server = await serve(wordle, { port: 0, logLevel: "silent" });
    const page = await readFile(new URL("../../../../docs/guide/ors.md", import.meta.url), "utf8");
    const [, program = ""] = /```python file=rollout\.py\n(.*?)```/s.exec(page) ?? [];
    const env = { ...process.env, OPENREWARD_API_URL: server.url, OPENREWARD_SESSION_URL: server.url };
    const { stdout } = await promisify(execFile)(python.path, ["-c", program], { env });
    expect(stdout).toContain("['train', 'test'] 2054");
    expect(stdout).toContain("['step']\n0 False");
  });

  test("waits for a reset that takes longer than 25 s", { timeout: 120_000 }, async () => {
    let resets = 0;
    const contract = defineContract({
      name: "slow_env",
      action: z.object({}),
      observation: z.object({ text: z.string() }),
    });
    const slow = defineEnvironment(contract, () => ({
      reset: async () => {
        // Two requests for the prompt end with 503.
        if (resets++ === 0) await sleep(26_000);
        return { observation: { text: "ready" } };
      },
      step: () => ({ observation: { text: "stepped" }, reward: 1 }),
    }));
    await using server = await serve(slow, { port: 0, logLevel: "silent", orsSeeds: 20 });
    const [first] = (await play(server.url, { calls: [["step", {}]] })).sessions;
    expect(first).toMatchObject({ prompt: [{ text: "ready" }], steps: [{ reward: 1 }] });
    expect(resets).toBe(2);
  });

  test("waits for a slot of a full server, longer than its three tries", { timeout: 120_000 }, async () => {
    const options = { port: 0, logLevel: "silent", orsSeeds: 20, maxConcurrentEnvs: 1, ...WITH_OPERATOR } as const;
    await using server = await serve(echo, options);
    const ors = orsClient(server.url);
    const id = await ors.open();
    const played = play(server.url, { calls: [["echo_message", { message: "hi" }]] });
    const refused = async (): Promise<number> => {
      const metrics = await (await fetchAsOperator(`${server.url}/metrics`)).text();
      return Number(/openenv_rejections_total\{.*reason="full".*\} (\d+)/.exec(metrics)?.[1] ?? 0);
    };
    await expect.poll(refused, { timeout: 60_000 }).toBeGreaterThan(3);
    await ors.request("POST", "/delete", { id });
    for (const { step_count } of (await played).sessions) expect(step_count).toBe(1);
  });

  test("reads the results unchanged, with rewards and the end of the episode", { timeout: 120_000 }, async () => {
    const results = async ({ environment, calls }: Case): Promise<Step[]> => {
      await using server = await serve(environment, { port: 0, logLevel: "silent" });
      return (await play(server.url, { calls })).sessions[0]?.steps ?? [];
    };
    const [echoed, , won, coded] = await Promise.all(CASES.map(results));
    expect(echoed?.map(({ blocks, refused }) => blocks?.[0]?.text ?? refused)).toEqual([
      "  hi",
      '{"message":"hey","length":3}',
      "not_found",
      "input_validation",
    ]);
    expect(won).toMatchObject([
      { reward: 0, finished: false },
      { reward: 1, finished: true },
      { refused: "episode_finished" },
    ]);
    expect(JSON.parse(coded?.[1]?.blocks?.[0]?.text ?? "")).toMatchObject({ stdout: `21\n${" ".repeat(9000)}\n` });
  });

  test.each(CASES)(
    "comes back to every call of $name after its stream was cut",
    { timeout: 120_000 },
    async ({ environment, calls, steps, tools }) => {
      await using server = await serve(environment, { port: 0, logLevel: "silent", orsSeeds: 20 });
      await using cutter = await startCutter(server.url);
      const seen = await play(cutter.url, { calls });
      expect(cutter.cut.calls).toBe(2 * calls.length);
      for (const session of seen.sessions) expect(session).toMatchObject({ tools, step_count: steps });
      expect(seen.sessions[0]?.steps.filter(({ blocks }) => blocks !== undefined)).toHaveLength(steps);
    },
  );
});
