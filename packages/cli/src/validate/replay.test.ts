import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../openenv/src/environment/environment.js";
import { runChecks } from "../../../openenv/src/testing/report.js";
import { portabilityCheck, replayChecks } from "./replay.js";

const contract = defineContract({
  name: "guess_env",
  description: "Guesses.",
  action: z.object({ guess: z.int() }),
  observation: z.object({ seen: z.int() }),
});
const servers = useServers();

/** The reward of the plays that `rewardOf` counts from 1. */
async function serveWith(rewardOf: (play: number) => number, seen = 0) {
  let plays = 0;
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { seen } }),
    step: () => ({ observation: { seen }, reward: rewardOf(++plays), done: true }),
  }));
  return (await servers.start({}, { environment })).url;
}

async function check(first: string, second: string, made: { id: string; status: "failed" }[] = []) {
  const checks = made.map((one) => ({ ...one, description: "", durationMs: 0 }));
  const replay = { first, second, actions: [{ guess: 1 }], checking: {}, made: checks };
  const report = await runChecks(first, [...replayChecks(replay), portabilityCheck(replay)]);
  return report.checks.map(({ id, status, detail }) => [id, status, detail]);
}

describe("an episode that was recorded on one server is played on another", () => {
  test("and is the same where seed and actions decide it", async () => {
    expect(await check(await serveWith(() => 1), await serveWith(() => 1))).toEqual([
      ["replayability", "passed", undefined],
      ["verifier_determinism", "passed", undefined],
      ["verifier_portability", "passed", undefined],
    ]);
  });

  test("and differs in an observation, not in its rewards", async () => {
    expect(await check(await serveWith(() => 1), await serveWith(() => 1, 5))).toEqual([
      ["replayability", "failed", "the replay differs first in 0.observation.seen: 0 and 5"],
      ["verifier_determinism", "passed", undefined],
      ["verifier_portability", "passed", undefined],
    ]);
  });

  test("and gets another reward the third time", async () => {
    expect(await check(await serveWith((play) => (play < 3 ? 1 : 0.5)), await serveWith(() => 1))).toMatchObject([
      ["replayability", "passed", undefined],
      ["verifier_determinism", "failed", "the rewards of one episode were [null,1] and [null,0.5]"],
      ["verifier_portability", "failed", "the rewards of one episode were [null,0.5] and [null,1]"],
    ]);
  });

  test("and says nothing where an episode does not repeat on one server", async () => {
    const url = await serveWith(() => 1);
    const skipped = await check(url, url, [{ id: "seed_honoured", status: "failed" }]);
    expect(skipped.map(([, status, detail]) => [status, detail])).toEqual(
      Array.from({ length: 3 }, () => ["skipped", "seed_honoured did not pass"]),
    );
  });
});
