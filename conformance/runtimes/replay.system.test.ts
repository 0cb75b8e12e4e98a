import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireBun, requireDeno } from "../../test-support/requirement.js";
import { divergencesOf, loadDivergences } from "../replay/divergences.js";
import { loadRecordings } from "../replay/load.js";
import { replay } from "../replay/play.js";
import { startHost } from "./start-host.js";

const divergences = loadDivergences();
const [bun, deno] = [await requireBun(), await requireDeno()];

/** Cases that a runtime answers in another way; the tests of the runtimes cover them. */
const ON_BUN = {
  "the shortest interval of pings is 4 s": ["timeouts/server-keepalive", "edge/no-pong"],
  "errors of JSON have no position": ["http/reset/bad-json", "tasks/task-bad-body"],
};
const ON_DENO = {
  "a peer without pongs is closed with 1001": ["edge/no-pong"],
  "a frame is rejected when it is complete": ["ws/frame-too-big"],
};

describe.skipIf(!bun.available)("on Bun", () => testRecordings([bun.path], ON_BUN));
describe.skipIf(!deno.available)("on Deno", () =>
  testRecordings([deno.path, "run", "--allow-all", "--unstable-no-legacy-abort"], ON_DENO),
);

function testRecordings(command: readonly string[], others: Record<string, string[]>): void {
  const own = Object.values(others).flat();
  const recordings = loadRecordings().filter((recording) => !own.includes(recording.case));
  let host: Awaited<ReturnType<typeof startHost>>;
  beforeAll(async () => {
    host = await startHost(command);
  });
  afterAll(() => host[Symbol.asyncDispose]());

  test.each(recordings)("the server answers as recorded: $case", { timeout: 60_000 }, async (recording) => {
    const { differences } = await replay(recording, divergencesOf(divergences, recording.case), host);
    expect(differences).toEqual([]);
  });
}
