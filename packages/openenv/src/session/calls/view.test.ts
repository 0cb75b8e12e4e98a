import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { startIsolated } from "../../../../../test-support/environments/isolation.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment, type Environment, EnvironmentError } from "../../index.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();

const moves = defineContract({
  name: "move_env",
  action: z.object({ to: z.string() }),
  observation: z.object({ at: z.string() }),
  tools: { look: { description: "Looks around." } },
});
const PICTURE = "data:image/png;base64,iVBORw0KGgo=";

function movesWith(more: Partial<Environment<typeof moves>>) {
  return defineEnvironment(moves, () => ({
    reset: () => ({ observation: { at: "home" } }),
    step: ({ to }) => ({ observation: { at: to }, reward: 1 }),
    tools: { look: () => "nothing" },
    ...more,
  }));
}

async function openViewed(more: Partial<Environment<typeof moves>>, path = "/ws?view=1") {
  const server = await start({}, { environment: movesWith(more) });
  return open(server, path);
}

const RESET = { type: "reset" };
const STEP = { type: "step", data: { to: "<b>north</b>" } };

describe("views of observations", () => {
  test("are sent next to the data to a socket that requested them, and confirmed once", async () => {
    const socket = await openViewed({
      render: ({ at }) => [
        { kind: "text", runs: [{ text: at, tone: "positive", mono: true }, { text: " now" }] },
        { kind: "image", src: PICTURE, alt: `a picture of ${at}` },
      ],
      actions: async ({ at }) => [{ label: `Leave ${at}`, action: { to: "away" } }],
    });
    expect(await socket.ask(RESET)).toEqual({
      type: "observation",
      data: { observation: { at: "home", metadata: {} }, reward: null, done: false },
      event: 1,
      openenv: { extensions: ["view"] },
      view: {
        parts: [
          { kind: "text", runs: [{ text: "home", tone: "positive", mono: true }, { text: " now" }] },
          { kind: "image", src: PICTURE, alt: "a picture of home" },
        ],
        actions: [{ label: "Leave home", action: { to: "away" } }],
      },
    });
    // Markup is sent as text; the page must show it as text.
    expect(await socket.ask(STEP)).toMatchObject({ view: { parts: [{ runs: [{ text: "<b>north</b>" }, {}] }, {}] } });
    expect(await socket.ask({ type: "state" })).not.toHaveProperty("view");
  });

  test.each(["/ws", "/ws?view=0", "/ws?openenv=view"])("are not created for %s", async (path) => {
    let asked = 0;
    const socket = await openViewed({ render: () => [{ kind: "text", runs: [{ text: String(++asked) }] }] }, path);
    const answer = await socket.ask(RESET);
    expect(answer).not.toHaveProperty("view");
    expect(answer).not.toHaveProperty("openenv");
    expect(asked).toBe(0);
  });

  test("are empty without render and actions, and for tools of an environment with other actions", async () => {
    const empty = { view: { parts: [], actions: [] } };
    expect(await (await openViewed({})).ask(RESET)).toMatchObject(empty);
    const socket = await openViewed({ render: ({ at }) => [{ kind: "text", runs: [{ text: at.toUpperCase() }] }] });
    await socket.ask(RESET);
    const call = { type: "step", data: { type: "call_tool", tool_name: "look", arguments: {} } };
    expect(await socket.ask(call)).toMatchObject({ data: { observation: { tool_name: "look" } }, ...empty });
  });

  test("are sent with every item of a batch", async () => {
    const render: Environment<typeof moves>["render"] = ({ at }) => [{ kind: "text", runs: [{ text: at }] }];
    const socket = await openViewed({ render }, "/ws?openenv=batch&view=1");
    await socket.ask({ type: "open_many", data: { count: 1 } });
    const answer = await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }] } });
    expect(answer).toMatchObject({
      data: { items: [{ type: "observation", view: { parts: [{ runs: [{ text: "home" }] }] } }] },
    });
  });

  test.each<[string, Partial<Environment<typeof moves>>, string]>([
    [
      "a render that throws",
      {
        render: () => {
          throw new Error("no colours left");
        },
      },
      "render: no colours left",
    ],
    ["actions that reject", { actions: () => Promise.reject(new EnvironmentError("no idea")) }, "actions: no idea"],
    ["markup in place of parts", { render: () => "<b>bold</b>" as never }, "render: ✖ Invalid input"],
    [
      "an image that is a page",
      { render: () => [{ kind: "image", src: "data:text/html,<script>", alt: "" }] },
      "must be a data URL of a PNG",
    ],
    [
      "an unknown tone",
      { render: () => [{ kind: "text", runs: [{ text: "a", tone: "pink" as never }] }] },
      "[0].runs[0].tone",
    ],
    ["an action that is no object", { actions: () => [{ label: "a", action: "go" as never }] }, "[0].action"],
    [
      "a function in an action",
      { actions: () => [{ label: "a", action: { to: () => 1 } as never }] },
      "has no JSON form",
    ],
    [
      "too many parts",
      { render: () => Array.from({ length: 257 }, () => ({ kind: "text" as const, runs: [] })) },
      "Too big",
    ],
    [
      "too many characters",
      { render: () => [{ kind: "text", runs: [{ text: "x".repeat(9 * 1024 * 1024) }] }] },
      "characters, the maximum is",
    ],
  ])("report %s, and the step continues", async (_what, more, problem) => {
    const socket = await openViewed(more);
    await socket.ask(RESET);
    const answer = await socket.ask(STEP);
    expect(answer).toMatchObject({
      type: "observation",
      data: { observation: { at: "<b>north</b>" }, reward: 1 },
      view: { parts: [], actions: [], problem: expect.stringContaining(problem) },
    });
  });

  test("do not send error messages to clients in production", async () => {
    const render = (): never => {
      throw new Error("the password is 1234");
    };
    const server = await start({ mode: "production" }, { environment: movesWith({ render }) });
    const socket = await open(server, "/ws?view=1");
    const { view } = (await socket.ask(RESET)) as { view: { problem: string } };
    expect(view.problem).toMatch(/^render: the environment failed/);
  });

  test.each(["thread", "process"] as const)("are created in the isolate of the session, a %s", async (isolation) => {
    await using isolated = await startIsolated({ isolation }, VIEWED_MODULE);
    const socket = await isolated.open("/ws?view=1");
    expect(await socket.ask(RESET)).toMatchObject({
      view: {
        parts: [{ kind: "text", runs: [{ text: "home, a Date" }] }],
        actions: [{ label: "North", action: { to: "north" } }],
      },
    });
    expect(await socket.ask({ type: "step", data: { to: "nowhere" } })).toMatchObject({
      data: { observation: { at: "nowhere" } },
      view: { parts: [], actions: [], problem: "render: nothing to see" },
    });
  });
});

/** A class with a rubric, so that it is both managed and isolated. */
const VIEWED_MODULE = `
import { datetime, defineContract, defineEnvironment, Rubric } from "openenv-ts";
import * as z from "zod";

const contract = defineContract({
  name: "viewed_env",
  action: z.object({ to: z.string() }),
  observation: z.object({ at: z.string(), time: datetime() }),
});
class One extends Rubric { forward() { return 1; } }
class Viewed {
  rubric = new One();
  #nowhere = false;
  reset() { return this.#show("home"); }
  step({ to }) { this.#nowhere = to === "nowhere"; return this.#show(to); }
  render({ at, time }) {
    if (this.#nowhere) throw new Error("nothing to see");
    return [{ kind: "text", runs: [{ text: at + ", a " + time.constructor.name }] }];
  }
  actions() { return this.#nowhere ? [] : [{ label: "North", action: { to: "north" } }]; }
  #show(at) { return { observation: { at, time: new Date(0) } }; }
}
export default defineEnvironment(contract, () => new Viewed());
`;
