import { delimiter, dirname } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { requirePython, requireRuntimes } from "../../test-support/requirement.js";
import { withoutFaults } from "../replay/compare.js";
import { loadClientRecordings } from "../replay/load.js";
import { playScenarios, type ScenarioResults } from "./play.js";

const python = await requirePython();

const recordings = new Map(loadClientRecordings().map((row) => [row.case, row.client_results]));
const CALL_RESET_FIRST = {
  raised: "RuntimeError",
  message: expect.stringMatching(/call reset first.*EXECUTION_ERROR/),
};
const RESET = { observation: { metadata: {}, count: 0 }, reward: null, done: false, metadata: null };
const FIRST_STEP = { observation: { metadata: {}, count: 1 }, reward: 1, done: false, metadata: null };

describe.each(await requireRuntimes())("on $name", ({ name: runtime, path, available }) => {
  let results: ScenarioResults;
  beforeAll(async () => {
    const PATH = `${dirname(path)}${delimiter}${process.env["PATH"]}`;
    if (python.available && available) results = await playScenarios(python.path, { runtime, PATH });
  }, 240_000);

  describe.skipIf(!python.available || !available)("the released Python client", () => {
    test.each([
      "client/generic/reset-step-state-close",
      "client/generic/errors-and-headers",
      "client/generic/base-url-path",
      "client/generic/refused",
      "client/generic/async",
      "client/generic/capacity",
      "client/autoenv/base-url",
      "client/mcp/against-non-mcp-env",
      "client/mcp/capacity",
    ])("gets the same from us as from the reference: %s", (name) => {
      const recorded = recordings.get(name) ?? [];
      const ours = results.get(name)?.slice(0, recorded.length);
      expect(withoutWording(ours)).toEqual(withoutWording(recorded));
    });

    test("that was rejected at capacity gets a session when another one ends", () => {
      expect(results.get("client/generic/capacity")?.at(-1)).toEqual(RESET);
      expect(results.get("client/mcp/capacity")?.at(-1)).toEqual(RESET);
    });

    test("with action, observation and state classes that forbid unknown fields runs an episode", () => {
      const [reset, step, invalid, state] = results.get("typed") ?? [];
      expect(reset).toMatchObject({ observation: { count: 0, metadata: { seed: 1 } }, reward: null, done: false });
      expect(step).toMatchObject({ observation: { count: 4, metadata: { echo: { k: 1 } } }, reward: 4, done: false });
      expect(invalid).toMatchObject({ raised: "RuntimeError", message: expect.stringContaining("VALIDATION_ERROR") });
      expect(state).toEqual({ episode_id: "typed", step_count: 1, total: 4 });
    });

    test("runs eight sessions in parallel, each with its own count", () => {
      expect(results.get("side-by-side")).toEqual([
        Array.from({ length: 8 }, (_, amount) => [amount, 2 * amount, 3 * amount]),
      ]);
    });

    test("that timed out finds its slot free, gets no late answer, and must reset", () => {
      expect(results.get("message-timeout")).toEqual([
        FIRST_STEP,
        { raised: "TimeoutError", message: "" },
        CALL_RESET_FIRST,
        RESET,
        FIRST_STEP,
      ]);
    });

    test("that reconnects silently to a restarted server must reset before it steps", () => {
      expect(results.get("restart")).toEqual([CALL_RESET_FIRST, RESET, FIRST_STEP]);
    });

    test("for tools creates a session, attaches to it and closes it", () => {
      const [tools, , reset, state, stateOfOther] = results.get("client/mcp/against-non-mcp-env") ?? [];
      expect(tools).toEqual([]);
      expect(reset).toMatchObject({ observation: { count: 0 }, done: false });
      expect(state).toEqual({ episode_id: "over-mcp", step_count: 0 });
      expect(stateOfOther).toMatchObject({ episode_id: null });
    });

    test("for tools lists and calls them as with the reference, and gets a reward", () => {
      const recorded = structuredClone(recordings.get("client/mcp/full") ?? []) as Record<string, unknown>[];
      const step = recorded[6] as { reward: unknown; observation: { reward: unknown } };
      step.reward = step.observation.reward = 0;
      (recorded[9] as Record<string, unknown>)["episode_id"] = expect.any(String);
      const ours = results.get("client/mcp/full");
      expect(withoutWording(ours?.slice(0, 9))).toEqual(withoutWording(recorded.slice(0, 9)));
      expect(ours?.[9]).toEqual(recorded[9]);
    });

    test("runs the echo environment: its action, its tools by steps, its tools over /mcp", () => {
      const [reset, step, called, names, said, measured, listed] = results.get("echo") ?? [];
      expect(reset).toMatchObject({ observation: { echoed_message: "Echo environment ready!" } });
      expect(step).toMatchObject({ observation: { echoed_message: "hi", message_length: 2 }, reward: 0.2 });
      expect(called).toMatchObject({ observation: { tool_name: "echo_message", result: { data: "hi" } }, reward: 0 });
      expect(names).toEqual(["echo_message", "echo_with_length"]);
      expect(said).toBe("héllo");
      expect(measured).toEqual({ message: "héllo 👋", length: 7 });
      expect(listed).toEqual(["ListToolsObservation", ["echo_message", "echo_with_length"], 0]);
    });

    test("that connects to an environment by URL reports when there is none", () => {
      expect(results.get("autoenv-refused")).toMatchObject([{ raised: "ConnectionError" }]);
    });
  });

  describe.skipIf(!python.available || !available)("the released validator", () => {
    test.each(["validator/url/simulation", "validator/url/production"])("passes a running server: %s", (name) => {
      const [exitCode, report] = results.get(name) ?? [];
      const [recorded] = (recordings.get(name) ?? []) as Record<string, unknown>[];
      const { mode, summary, standard_profile } = recorded ?? {};
      expect(exitCode).toBe(0);
      expect(report).toMatchObject({ passed: true, mode, summary, standard_profile });
    });

    test("accepts the rewards and observations of tools, unlike those of the reference", () => {
      type Checked = { checks: { id: string; status: string }[] };
      const statuses = (of: ReadonlyMap<string, unknown[]>) => {
        const [{ checks = [] } = {} as Partial<Checked>] = (of.get("validator/runtime/mcp") ?? []) as Checked[];
        return Object.fromEntries(checks.map(({ id, status }) => [id.replace("runtime.", ""), status]));
      };
      expect(statuses(recordings)).toMatchObject({ reward_well_formed: "fail", observation_schema: "fail" });
      expect(statuses(results)).toEqual({
        reward_well_formed: "pass",
        observation_schema: "pass",
        state_contract: "pass",
      });
    });

    test.each(["validator/runtime/counter", "validator/runtime/error"])(
      "reports the same as for the reference: %s",
      (name) => {
        expect(withoutFaults(results.get(name))).toEqual(recordings.get(name));
      },
    );
  });
});

/** Keeps the client's own text and the code or status from the server, because the server's wording is free. */
function withoutWording(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, member: unknown) => {
    if (key !== "message" || typeof member !== "string") return member;
    const own = /^(?:[^:]|:\/\/|:\d)*/.exec(member)?.[0].replace(/127\.0\.0\.1:\d+/, "HOST");
    return [own, /\(code: \w+\)|HTTP \d+/.exec(member)?.[0]];
  });
}
