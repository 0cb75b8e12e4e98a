import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { connect, connectVector } from "../../client/index.js";
import { bytes, defineContract, defineEnvironment, type Environment } from "../../index.js";

const servers = useServers();

const contract = defineContract({
  name: "grid_env",
  action: z.object({ x: z.int().default(0), y: z.int().default(0) }),
  observation: z.object({ seen: bytes(), last: z.array(z.int()) }),
});
type Position = Record<"x" | "y", number>;

/** Moves on a grid: a position can be reached on several paths, and the observation shows the last move. */
const grid = (more: (at: Position) => Partial<Environment<typeof contract>> = () => ({})) =>
  defineEnvironment(contract, (): Environment<typeof contract> => {
    const at: Position = { x: 0, y: 0 };
    let calls = 0;
    const show = (x: number, y: number) => ({
      observation: { seen: new Uint8Array([at.x, at.y]), last: [x, y] },
      metadata: { calls: ++calls },
    });
    return {
      reset: () => {
        Object.assign(at, { x: 0, y: 0 });
        return show(0, 0);
      },
      step: ({ x, y }) => {
        Object.assign(at, { x: at.x + x, y: at.y + y });
        return show(x, y);
      },
      ...more(at),
    };
  });

const right = { x: 1 };
const up = { y: 1 };
const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** The digests of a reset and of these steps. */
async function digestsOf(env: Awaited<ReturnType<typeof connect>>, actions: object[]) {
  const digests = [(await env.reset()).digest];
  for (const action of actions) digests.push((await env.step(action as Record<string, unknown>)).digest);
  return digests;
}

describe("the digest of a state", () => {
  test.each([
    ["state_key", grid((at) => ({ stateKey: () => ({ y: at.y, x: at.x }) })), '{"x":1,"y":1}'],
    ["state_key", grid((at) => ({ stateKey: async () => `${at.x}/${at.y}` })), '"1/1"'],
    ["snapshot", grid((at) => ({ snapshot: () => ({ ...at }), restore: () => {} })), '{"x":1,"y":1}'],
    ["snapshot", grid((at) => ({ snapshot: async () => new Uint8Array([at.x, at.y]), restore: () => {} })), '"AQE="'],
  ])(
    "from a %s is equal for equal states, however they were reached and wherever they are",
    async (source, of, text) => {
      const [one, two] = [await servers.start({}, { environment: of }), await servers.start({}, { environment: of })];
      await using first = await connect(one.url, { digest: true });
      await using second = await connect(two.url, { digest: true, binary: true, timing: true });
      await using local = await connect(of, { digest: true });
      const [start, atRight, both] = await digestsOf(first, [right, up]);
      const [again, atTop, same] = await digestsOf(second, [up, right]);
      // Known in advance, so that every machine gives the same.
      expect(both).toBe(`${source}:${hash(text)}`);
      expect([again, same]).toEqual([start, both]);
      expect(new Set([start, atRight, atTop, both]).size).toBe(4);
      expect(await digestsOf(local, [up, right])).toEqual([again, atTop, same]);
      // The state at the start of the next episode is the same, too.
      expect((await first.reset()).digest).toBe(start);
    },
  );

  test("is that of the observation without either, and leaves out what describes the call", async () => {
    const server = await servers.start({}, { environment: grid() });
    await using env = await connect(server.url, contract, { digest: true });
    await using other = await connect(server.url, contract, { digest: true, timing: true, binary: true });
    await env.reset();
    await other.reset();
    const moves = await env.step({ x: 1, y: 1 });
    expect(moves.digest).toBe(`observation:${hash('{"last":[1,1],"seen":"AQE="}')}`);
    expect((await other.step({ x: 1, y: 1 })).digest).toBe(moves.digest);
    expect(moves.metadata).toMatchObject({ calls: 2 });
  });

  test("comes with every session of a batch socket", async () => {
    const server = await servers.start({}, { environment: grid((at) => ({ stateKey: () => [at.x, at.y] })) });
    await using envs = await connectVector(server.url, contract, { size: 3, digest: true });
    await envs.reset();
    const [one, two, three] = await envs.step([{ x: 1 }, { y: 1 }, { x: 1 }]);
    expect(one).toMatchObject({ digest: `state_key:${hash("[1,0]")}` });
    expect(two).not.toMatchObject({ digest: one?.digest });
    expect(three).toMatchObject({ digest: one?.digest });
  });

  test.each([
    [
      "throws",
      grid(() => ({
        stateKey: () => {
          throw new Error("no key today");
        },
      })),
      "no key today",
    ],
    ["rejects", grid(() => ({ stateKey: () => Promise.reject(new Error("no key today")) })), "no key today"],
    ["is not JSON", grid(() => ({ stateKey: () => ({ seen: new Map([[1, 2]]) }) })), "a Map has no JSON form"],
  ])("is missing with a warning when the state key %s, and the step is answered", async (_, environment, why) => {
    const server = await servers.start({}, { environment });
    await using env = await connect(server.url, contract, { digest: true });
    await env.reset();
    const result = await env.step({ x: 2 });
    expect(result).toMatchObject({ outcome: "ok", observation: { last: [2, 0] }, metadata: { calls: 2 } });
    expect(result).not.toHaveProperty("digest");
    expect(result.warnings).toEqual([expect.stringContaining(`there is no digest of the state: ${why}`)]);
  });

  test("is made only for a client that requests it", async () => {
    let made = 0;
    const server = await servers.start({}, { environment: grid(() => ({ stateKey: () => ++made })) });
    const stock = await servers.open(server);
    expect(await stock.ask({ type: "reset", data: {} })).not.toHaveProperty("data.metadata.openenv");
    await using env = await connect(server.url, contract);
    expect(await env.reset()).not.toHaveProperty("digest");
    expect(made).toBe(0);
    const asking = await servers.open(server, "/ws?openenv=digest");
    expect(await asking.ask({ type: "reset", data: {} })).toMatchObject({
      data: { metadata: { openenv: { digest: `state_key:${hash("1")}` } } },
      openenv: { extensions: ["digest"] },
    });
  });
});
