import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import { runChecks } from "../../../openenv/src/testing/report.js";
import { portabilityCheck } from "./replay.js";
import { checkSemantics } from "./semantic/run.js";

const contract = defineContract({
  name: "guess_env",
  description: "Guesses.",
  action: z.object({ guess: z.int() }),
  observation: z.object({ seen: z.int() }),
});
const servers = useServers();

/** `rewardOf` gets the number of the episode, starting at 1, and returns its reward. */
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
  const actions = [{ guess: 1 }];
  const options = { made: checks, schemas: contract.schemas(), isRequested: false };
  const semantic = await checkSemantics(first, { other: second, actions }, options);
  const report = await runChecks(first, [portabilityCheck({ first, second, actions, checking: {}, made: checks })]);
  const ids = ["verifier_determinism", "replayability", "verifier_portability"];
  return [...semantic, ...report.checks]
    .filter(({ id }) => ids.includes(id))
    .map(({ id, status, detail }) => [id, status, detail]);
}

describe("an episode recorded on one server is replayed on another", () => {
  test("with the same results if seed and actions determine it", async () => {
    expect(await check(await serveWith(() => 1), await serveWith(() => 1))).toEqual([
      ["verifier_determinism", "passed", undefined],
      ["replayability", "passed", undefined],
      ["verifier_portability", "passed", undefined],
    ]);
  });

  test("with a different observation but the same rewards", async () => {
    const difference = "with seed 7 the first difference of the replay is 0.observation.seen: 0 and 5";
    expect(await check(await serveWith(() => 1), await serveWith(() => 1, 5))).toEqual([
      ["verifier_determinism", "passed", undefined],
      ["replayability", "failed", difference],
      ["verifier_portability", "passed", undefined],
    ]);
  });

  test("with another reward the third time", async () => {
    expect(await check(await serveWith((play) => (play < 3 ? 1 : 0.5)), await serveWith(() => 1))).toMatchObject([
      ["verifier_determinism", "failed", "with seed 7 the rewards of one episode were [1] and [0.5]"],
      ["replayability", "skipped", "verifier_determinism did not pass"],
      ["verifier_portability", "failed", "the rewards of one episode were [null,0.5] and [null,1]"],
    ]);
  });

  test("which is skipped if the episode does not repeat on one server", async () => {
    const url = await serveWith(() => 1);
    const skipped = await check(url, url, [{ id: "seed_honoured", status: "failed" }]);
    expect(skipped.map(([, status, detail]) => [status, detail])).toEqual(
      Array.from({ length: 3 }, () => ["skipped", "seed_honoured did not pass"]),
    );
  });
});
