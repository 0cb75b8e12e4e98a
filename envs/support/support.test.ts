import type { ViewPart } from "openenv-ts";
import { connectTools, connectVector } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { type Kind, makeCase } from "./cases.js";
import { grade } from "./grade.js";
import { support } from "./models.js";
import { renderCase } from "./render.js";
import environment from "./server/environment.js";
import { tasks } from "./tasks.js";
import { call, close, openSession, placeOf, places, play, solutionOf, worldOf } from "./test-support/play.js";
import { solved } from "./validation/oracle.js";

const WHOLE = { identity: 0.125, decisions: 0.125, changes: 0.25, complete: 0.5 };
const NOTHING = { identity: 0, decisions: 0, changes: 0, complete: 0 };
const SESSIONS = 256;

describe("the reward", () => {
  test("is 1 for the oracle in every task of every split, all of it at the end", async () => {
    await using env = await openSession();
    for (const place of places) {
      const { rewards, metadata, done, state } = await play(env, place, solutionOf(place));
      expect(rewards, JSON.stringify(place)).toEqual([...rewards.slice(1).map(() => 0), 1]);
      expect(metadata["reward_components"]).toEqual(WHOLE);
      expect(done && solved(place, state)).toBe(true);
    }
  });

  test("is below 1 without any one call of the oracle but its question", async () => {
    await using env = await openSession();
    for (const place of places.slice(0, 17)) {
      const solution = solutionOf(place);
      for (const left of solution.slice(1, -1)) {
        const { total, state } = await play(
          env,
          place,
          solution.filter((one) => one !== left),
        );
        expect(total, JSON.stringify([place, left])).toBeLessThanOrEqual(0.5);
        expect(solved(place, state)).toBe(false);
      }
    }
  });

  test("is 0 in every task for an agent that does nothing, or does not end the case", async () => {
    await using env = await openSession();
    for (const place of places) {
      expect((await env.reset(place)).reward, JSON.stringify(place)).toBe(0);
      expect((await play(env, place, [close])).metadata["reward_components"]).toEqual(NOTHING);
      expect((await play(env, place, solutionOf(place).slice(0, -1))).total).toBe(0);
    }
    const late = await play(env, placeOf("return"), Array(100).fill(call("read_policy", {})));
    expect([late.total, late.done, late.metadata["truncated"] ?? late.state.closed]).toEqual([0, true, true]);
  });

  test.each<[string, Kind, string]>([
    ["a refund after the time", "too_old", "refund_order"],
    ["a refund of an opened item in full", "opened", "refund_order"],
    ["a credit without a request", "return", "issue_credit"],
    ["a new address for what is under way", "address_late", "change_address"],
    ["a refund to a customer under review", "review", "refund_order"],
    ["a refund beyond the limit", "expensive", "refund_order"],
  ])("is 0 after %s, although all the rest is right", async (_, kind, tool) => {
    await using env = await openSession();
    const place = placeOf(kind);
    const { orders, person } = worldOf(place);
    const asked = orders.find(({ id, status }) => id === person.requests[0]?.order_id && status !== "paid");
    const { id: order_id, paid_cents } =
      asked ?? (orders.find(({ status }) => status === "delivered") as (typeof orders)[0]);
    const more =
      tool === "change_address"
        ? { address: "1 Elsewhere" }
        : { amount_cents: tool === "issue_credit" ? 1 : paid_cents };
    const [ask, verify, ...rest] = solutionOf(place);
    const calls = [ask, verify, call(tool, { order_id, ...more }), ...rest].filter((one) => one !== undefined);
    const { results, total, metadata } = await play(env, place, calls);
    expect(results[2], JSON.stringify(results)).toMatchObject({ ok: true });
    expect([total, metadata["reward_components"]]).toEqual([0, NOTHING]);
  });

  test("is 0 for a change before the identity is verified", async () => {
    await using env = await openSession();
    const place = placeOf("cancel");
    const [ask, verify, cancel, ...rest] = solutionOf(place) as [ReturnType<typeof call>, ...ReturnType<typeof call>[]];
    const calls = [ask, cancel, verify, ...rest] as ReturnType<typeof call>[];
    expect((await play(env, place, calls)).total).toBe(0);
  });

  test("is earned once: a closed case answers no tool", async () => {
    await using env = await openSession();
    const place = placeOf("return");
    await play(env, place, solutionOf(place));
    for (const { tool_name, arguments: given } of [...solutionOf(place), call("find_customer", { email: "a" })]) {
      const { data, reward, done } = await env.tools[tool_name as "read_policy"](given);
      expect([data.ok, reward, done]).toEqual([false, 0, true]);
      expect(data.message).toContain("closed");
    }
  });
});

describe("the tasks", () => {
  test("are cases of all kinds, the same each time, and different ones", () => {
    expect([tasks.count("train"), tasks.count("test")]).toEqual([136, 51]);
    const all = places.map(({ split, index }) => tasks.get(split, index));
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(17);
    expect(new Set(all.map(({ difficulty }) => difficulty))).toEqual(new Set([1, 2, 3]));
    const worlds = all.map(({ seed, kind }) => JSON.stringify(makeCase(seed, kind)));
    expect(worlds).toEqual(all.map(({ seed, kind }) => JSON.stringify(makeCase(seed, kind))));
    expect(new Set(worlds).size).toBe(places.length);
    expect(new Set(all.map(({ seed }) => seed)).size).toBe(places.length);
  });

  test("keep answers, PINs and the policy out of what an agent gets before it asks, and of the state", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using client = await connectTools(server.url, support);
    for (const place of places.slice(0, 17)) {
      const { customers, articles, policy } = worldOf(place);
      const seen = JSON.stringify([
        await client.tasks.get(place.split, place.index),
        await client.reset(place),
        await client.state(),
        await client.callTool("get_order", { order_id: "O-0" }),
        await client.callTool("decide_request", { order_id: "O-0", outcome: "denied", article_id: "KB-0" }),
        await client.callTool("find_customer", { email: customers[0]?.email ?? "" }),
      ]);
      for (const { pin } of customers) expect(seen).not.toContain(`"${pin}"`);
      for (const { id } of Object.values(articles)) expect(seen).not.toContain(id);
      for (const name of Object.keys(policy)) expect(seen).not.toContain(name);
      for (const hidden of ["expected", "kind", "seed"]) {
        expect(await client.tasks.get(place.split, place.index)).not.toHaveProperty(hidden);
      }
    }
  });
});

describe("the systems of the shop", () => {
  test("refuse what is impossible, and say why", async () => {
    await using env = await openSession();
    const place = placeOf("return");
    await env.reset(place);
    const { orders, person } = worldOf(place);
    const { id, paid_cents } = orders.find((one) => one.id === person.requests[0]?.order_id) as (typeof orders)[0];
    const refund = (amount_cents: number) => env.tools.refund_order({ order_id: id, amount_cents });
    const said = async (result: Promise<{ data: { ok: boolean; message: string } }>) => (await result).data.message;
    expect(await said(refund(paid_cents + 1))).toContain(`At most ${paid_cents} cents are left`);
    expect(await said(refund(paid_cents))).toContain("Recorded");
    expect(await said(refund(1))).toContain("At most 0 cents are left");
    expect(await said(env.tools.issue_credit({ order_id: id, amount_cents: 1 }))).toContain("At most 0 cents");
    expect(await said(env.tools.cancel_order({ order_id: id }))).toContain("is delivered and cannot be cancelled");
    expect(await said(env.tools.change_address({ order_id: id, address: "1" }))).toContain("is delivered");
    expect(await said(env.tools.cancel_order({ order_id: "O-0" }))).toContain('no order "O-0"');
    await expect(refund(-1)).rejects.toMatchObject({ errorType: "invalid_args" });
    const other = placeOf("cancel");
    await env.reset(other);
    const order_id = worldOf(other).person.requests[0]?.order_id ?? "";
    await env.tools.issue_credit({ order_id, amount_cents: 1 });
    expect(await said(env.tools.cancel_order({ order_id }))).toContain("At most");
    expect((await env.state()).orders.find((one) => one.id === order_id)?.status).toBe("paid");
  });

  test("lock the check of the identity after three wrong PINs", async () => {
    await using env = await openSession();
    const place = placeOf("return");
    await env.reset(place);
    const { customer_id, pin } = worldOf(place).person;
    const verify = async (given: string) => (await env.tools.verify_identity({ customer_id, pin: given })).data.message;
    for (let nth = 0; nth < 3; nth++) expect(await verify("0000")).toBe("The PIN is wrong.");
    expect(await verify(pin)).toContain("locked");
  });
});

describe("the customer", () => {
  test("answers what is asked for, and asks for an exception after a refusal", async () => {
    await using env = await openSession();
    const place = placeOf("address");
    await env.reset(place);
    const { person, articles } = worldOf(place);
    const [request] = person.requests;
    const say = async (text: string) => (await env.tools.message_customer({ text })).data.reply;
    expect(await say("What is your PIN?")).toBe(`My PIN is ${person.pin}.`);
    expect(await say("Which address?")).toContain(`The new address is: ${request?.address}`);
    expect(await say("Hello.")).toContain("Is there more");
    const article_id = articles["address"]?.id ?? "";
    await env.tools.decide_request({ order_id: request?.order_id ?? "", outcome: "denied", article_id });
    expect(await say("No.")).toContain("exception");
  });
});

describe("the environment", () => {
  test("keeps the promises of every environment, and can be restored", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const status = (check: string) => report.checks.find(({ id }) => id === check)?.status;
    expect(["restores", "replays", "seed_used"].map(status)).toEqual(["passed", "passed", "passed"]);
  });

  test("continues in a fork as in the original", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await connectTools(server.url, support, { resume: true });
    const place = placeOf("opened");
    await env.reset(place);
    const [ask, verify, ...rest] = solutionOf(place);
    for (const one of [ask, verify]) await env.callTool(one?.tool_name as "read_policy", one?.arguments as never);
    const [copy] = await env.fork(1);
    for (const session of [env, copy]) {
      let reward: unknown = 0;
      for (const { tool_name, arguments: given } of rest) {
        ({ reward } = await (session as typeof env).tools[tool_name as "read_policy"](given));
      }
      expect(reward).toBe(1);
    }
    await copy?.close();
  });

  test("shows people the conversation, what was done and what it earned", async () => {
    const place = placeOf("opened");
    const world = worldOf(place);
    world.messages.push({ from: "agent", text: "Hello!" });
    world.changes.push({ kind: "refund", order_id: "O-1", amount_cents: 1234, address: null, verified: true });
    const shown = (parts: ViewPart[]) => parts.flatMap((part) => (part.kind === "text" ? part.runs : []));
    const open = shown(renderCase(world, undefined)).map(({ text }) => text);
    expect(open.join("")).toContain(
      `Customer: ${world.person.opening}Agent: Hello!No customer is verified.\nO-1: refund 12.34.`,
    );
    const closed = shown(
      renderCase({ ...world, closed: true }, grade(world, tasks.get(place.split, place.index).expected)),
    );
    expect(closed.slice(-4).map(({ text, tone }) => text + tone)).toEqual(
      ["identity", "decisions", "changes", "complete"].map((name) => ` ${name} 0 negative`),
    );
  });

  test("plays 256 sessions at once, each with its own case", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs: SESSIONS });
    await using envs = await connectVector(server.url, support, { size: SESSIONS });
    const played = Array.from({ length: SESSIONS }, (_, nth) => places[nth % places.length] as (typeof places)[0]);
    await envs.reset(played);
    const solutions = played.map(solutionOf);
    const rewards: unknown[] = [];
    for (let step = 0; solutions.some((calls) => step < calls.length); step++) {
      const results = await envs.callTools(
        solutions.map((calls) => {
          const one = calls[step];
          return one === undefined ? null : { name: one.tool_name as "read_policy", arguments: one.arguments };
        }),
      );
      for (const [nth, result] of results.entries()) if (result !== null) rewards[nth] = result.reward;
    }
    expect(rewards).toEqual(played.map(() => 1));
  });
});
