import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rng } from "openenv-ts";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { tasks } from "./tasks.js";
import {
  type Call,
  call,
  close,
  openSession,
  type Place,
  places,
  play,
  solutionOf,
  worldOf,
} from "./test-support/play.js";

const python = await requirePython();
const script = fileURLToPath(new URL("check/invariants.py", import.meta.url));

describe.skipIf(!python.available)("a second implementation of the policy, in Python", () => {
  test("agrees on the answer and the reward of every task, however it is played", { timeout: 120_000 }, async () => {
    await using env = await openSession();
    const lines: string[] = [];
    const rewards = new Set<number>();
    for (const [nth, place] of places.entries()) {
      for (const calls of plans(place, nth)) {
        const { total, state } = await play(env, place, calls);
        rewards.add(total);
        lines.push(describeEpisode(place, total, state));
      }
    }
    const { episodes, paid, problems } = await check(lines);
    expect(problems).toEqual([]);
    expect(episodes).toBe(places.length * 6);
    expect(paid).toBeGreaterThanOrEqual(places.length);
    expect([...rewards].sort()).toEqual(expect.arrayContaining([0, 0.125, 0.25, 0.375, 1]));
  });

  test("finds wrong rewards and broken states", { timeout: 60_000 }, async () => {
    await using env = await openSession();
    const place = { split: "train", index: 0 };
    const { total, state } = await play(env, place, solutionOf(place));
    const episode = JSON.parse(describeEpisode(place, total, state));
    const { balances, changes } = episode.final;
    const broken = [
      { ...episode, reward: 0.9 },
      { ...episode, final: { ...episode.final, balances: { ...balances, shop: balances.shop + 1 } } },
      { ...episode, final: { ...episode.final, changes: [...changes, changes[0]] } },
      { ...episode, task: { ...episode.task, expected: { ...episode.task.expected, changes: [] } } },
    ];
    for (const wrong of broken) expect((await check([JSON.stringify(wrong)])).problems).not.toEqual([]);
    expect((await check([JSON.stringify(episode)])).problems).toEqual([]);
  });
});

function describeEpisode(place: Place, reward: number, state: Awaited<ReturnType<typeof play>>["state"]): string {
  const {
    orders,
    changes,
    decisions,
    balances_cents: balances,
    verified_customer: verified,
    wrong_pins: wrongPins,
  } = state;
  const initial = worldOf(place);
  const final = { ...initial, orders, changes, decisions, balances, verified, wrongPins, closed: state.closed };
  return JSON.stringify({ task: tasks.get(place.split, place.index), initial, final, reward });
}

/** The solution, parts of it, the solution with one more call, and two episodes of random calls that fit the records. */
function plans(place: Place, seed: number): Call[][] {
  const random = rng(seed);
  const solution = solutionOf(place);
  const { orders, customers, person, articles } = worldOf(place);
  const order = () => random.pick(orders);
  const anyCall = (): Call => {
    const { id: order_id, paid_cents } = order();
    const amount_cents = random.pick([
      1,
      paid_cents,
      Math.floor(paid_cents / 2),
      paid_cents + 1,
      random.int(1, paid_cents),
    ]);
    const article_id = random.pick(Object.values(articles)).id;
    return random.pick([
      call("verify_identity", { customer_id: random.pick(customers).id, pin: random.pick(["0000", person.pin]) }),
      call("cancel_order", { order_id }),
      call("refund_order", { order_id, amount_cents }),
      call("issue_credit", { order_id, amount_cents }),
      call("replace_order", { order_id }),
      call("change_address", { order_id, address: "1 Elsewhere" }),
      call("decide_request", { order_id, outcome: random.pick(["approved", "denied", "escalated"]), article_id }),
    ]);
  };
  const walk = () => [...Array.from({ length: 12 }, anyCall), close];
  const at = random.int(0, solution.length - 2);
  const isChange = ({ tool_name }: Call) =>
    !["message_customer", "verify_identity", "decide_request"].includes(tool_name);
  return [
    solution,
    solution.filter((_, nth) => nth !== at),
    solution.filter((one) => !isChange(one)),
    [...solution.slice(0, at), anyCall(), ...solution.slice(at)],
    walk(),
    [...solution.slice(0, 2), ...walk()],
  ];
}

interface Report {
  episodes: number;
  paid: number;
  problems: string[];
}

async function check(lines: readonly string[]): Promise<Report> {
  const child = spawn(python.path, [script], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(lines.join("\n"));
  return JSON.parse(await text(child.stdout)) as Report;
}
