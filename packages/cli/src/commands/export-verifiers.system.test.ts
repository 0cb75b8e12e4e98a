import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { callCommand, createProject, startCommand } from "../../../../test-support/commands/command-line.js";
import { requirePythonVerifiers } from "../../../../test-support/requirement.js";

vi.setConfig({ testTimeout: 300_000 });

const python = await requirePythonVerifiers();

const DESK = `
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";
const tools = defineTools({ add: { description: "Adds.", input: z.object({ a: z.int() }), output: z.int() } });
const contract = defineContract({
  name: "desk_env",
  description: "Add up.",
  action: z.object({ guess: z.int() }),
  observation: z.object({ sum: z.int() }),
  tools,
});
export default defineEnvironment(contract, () => {
  let sum = 0;
  return {
    reset: () => ({ observation: { sum: (sum = 0) } }),
    step: ({ guess }) => ({ observation: { sum }, reward: guess === sum ? 1.5 : -1, done: true }),
    tools: { add: ({ a }) => (sum += a) },
  };
});
`;

/** Adds, and guesses; one episode of three is wrong, one does not end, and the policy of one fails. */
const POLICY = `
export default ({ episode, step }) => {
  if (episode === 3 && step === 1) throw new Error("no idea");
  if (step < 2 || episode === 2) return { type: "call_tool", tool_name: "add", arguments: { a: 2 } };
  return { guess: episode === 1 ? 5 : 4 };
};
`;

const GUIDE = readFileSync(new URL("../../../../docs/guide/export.md", import.meta.url), "utf8");
const [, READ] = /## Use verifiers\n\n```python\n(.*?)```/s.exec(GUIDE) ?? [];

/** Prints the episodes that verifiers reads from the file, and again from what verifiers writes of them. */
const SHOW = `
import json
from verifiers.v1.episode import WireEpisode

def show(episode):
    [trace] = episode.traces
    [branch] = trace.branches
    return {
        "env": episode.env.id, "group": episode.group.id, "ok": [episode.ok, trace.ok, trace.has_error],
        "reward": trace.reward, "turns": trace.num_turns, "truncated": trace.is_truncated,
        "stop": trace.stop_condition, "task": trace.task.data.model_dump(), "tools": [one.name for one in branch.tools],
        "messages": [[one.role, one.content] for one in branch.messages], "trainable": branch.trainable,
        "calls": [[call.name, call.arguments] for one in trace.assistant_messages for call in one.tool_calls],
        "answered": [one.tool_call_id for one in trace.tool_messages], "sampled": [node.sampled for node in branch.nodes],
    }

again = [WireEpisode.model_validate(one.to_record()) for one in episodes]
print(json.dumps([[show(one) for one in many] for many in (episodes, again)]))
`;

describe.skipIf(!python.available)("episodes exported for verifiers", () => {
  test("are read by the package with their tasks, messages, tools and rewards", async () => {
    await using project = await createProject({ "environment.ts": DESK, "policy.mjs": POLICY });
    const { dir: cwd } = project;
    await using server = startCommand(["serve", "--port", "0"], { cwd });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const options = ["--policy", "policy.mjs", "--group-size", "2", "--max-steps", "3", "--parallel", "1"];
    expect((await callCommand(["collect", url, "-n", "4", ...options], { cwd })).code).toBe(1);
    expect((await callCommand(["export", "episodes.jsonl", "--to", "verifiers"], { cwd })).code).toBe(0);
    const env = { ...process.env, HOME: join(cwd, "home") };
    const { stdout } = await promisify(execFile)(python.path, ["-c", `${READ}${SHOW}`], { cwd, env });
    const [read, again] = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(again).toEqual(read);
    // The episode whose policy failed has no reward, so it is left out.
    expect(read).toHaveLength(3);
    const group = (seed: number) => `desk_env {"seed":${seed}}`;
    expect(read).toMatchObject([
      { group: group(0), reward: 1.5, turns: 3, truncated: false, stop: "done" },
      { group: group(0), reward: -1, turns: 3, truncated: false, stop: "done" },
      { group: group(1), reward: 0, turns: 3, truncated: true, stop: "max_turns" },
    ]);
    expect(read[0]).toMatchObject({
      env: "desk_env",
      ok: [true, true, false],
      task: { name: group(0), prompt: 'Add up.\n\n{"sum":0}', reset: { seed: 0 } },
      tools: ["add", "step"],
      messages: [
        ["user", 'Add up.\n\n{"sum":0}'],
        ["assistant", ""],
        ["tool", "2"],
        ["assistant", ""],
        ["tool", "4"],
        ["assistant", ""],
        ["tool", '{"sum":4}'],
      ],
      trainable: true,
      calls: [
        ["add", '{"a":2}'],
        ["add", '{"a":2}'],
        ["step", '{"guess":4}'],
      ],
      answered: ["call_0", "call_1", "call_2"],
      sampled: [false, true, false, true, false, true, false],
    });
  });
});
