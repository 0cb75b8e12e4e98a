import { expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment, defineTools } from "../index.js";

const { start, open } = useServers();

const tools = defineTools({
  look: { description: "Looks.", input: z.object({ at: z.int() }) },
  take: { description: "Takes." },
  fall: { description: "Fails." },
});

function define(toolReward?: null) {
  const contract = defineContract({ name: "look_env", tools, ...(toolReward === null && { toolReward }) });
  return defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    tools: {
      look: () => "seen",
      take: () => "taken",
      fall: () => {
        throw new Error("broken");
      },
    },
    afterTool: ({ name }) => (name === "take" ? { reward: 2 } : {}),
  }));
}

async function rewardsOf(environment: object): Promise<unknown[]> {
  const server = await start({}, { environment: environment as never });
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  const call = (tool_name: string, given: object = {}) => ({ type: "call_tool", tool_name, arguments: given });
  const rewards: unknown[] = [];
  for (const data of [
    { type: "list_tools" },
    call("look", { at: 1 }),
    call("look", { at: "there" }),
    call("none"),
    call("take"),
    call("fall"),
  ]) {
    const { data: answer } = (await socket.ask({ type: "step", data })) as { data: { reward: unknown } };
    rewards.push(answer.reward);
  }
  return rewards;
}

test("a tool call has the reward 0, or null if the contract says so, unless afterTool decides it", async () => {
  expect(await rewardsOf(define())).toEqual([0, 0, 0, 0, 2, null]);
  expect(await rewardsOf(define(null))).toEqual([null, null, null, null, 2, null]);
});
