import { describe, expect, test } from "vitest";
import { divergencesOf, loadDivergences } from "./divergences.js";
import { loadRecordings } from "./load.js";
import { replay } from "./play.js";

const divergences = loadDivergences();
const recordings = loadRecordings();

describe("the server answers as recorded or as in divergences.yaml", { timeout: 60_000 }, () => {
  test.each(recordings)("$case", async (recording) => {
    const { differences, stale } = await replay(recording, divergencesOf(divergences, recording.case));
    expect(differences).toEqual([]);
    expect(stale, "these divergences do not differ").toEqual([]);
  });
});
