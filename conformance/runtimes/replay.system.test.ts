import { afterAll, describe, expect, test } from "vitest";
import { requireBun, requireDeno } from "../../test-support/requirement.js";
import { divergencesOf, loadDivergences } from "../replay/divergences.js";
import { loadRecordings } from "../replay/load.js";
import { replay } from "../replay/play.js";
import { startHost } from "./start-host.js";

const divergences = loadDivergences();
const [bun, deno] = [await requireBun(), await requireDeno()];

describe.skipIf(!bun.available)("on Bun", () => testRecordings([bun.path]));
describe.skipIf(!deno.available)("on Deno", () => testRecordings([deno.path, "run", "--allow-all"]));

function testRecordings(command: readonly string[]): void {
  const host = startHost(command);
  afterAll(async () => (await host)[Symbol.asyncDispose]());

  test.each(loadRecordings())("the server answers as recorded: $case", { timeout: 60_000 }, async (recording) => {
    const { differences } = await replay(recording, divergencesOf(divergences, recording.case), await host);
    expect(differences).toEqual([]);
  });
}
