import { describe, expect, test } from "vitest";
import { findErrorsWithoutFault } from "./compare.js";
import { divergencesOf, loadDivergences } from "./divergences.js";
import { loadRecordings } from "./load.js";
import { replay } from "./play.js";

const divergences = loadDivergences();
const recordings = loadRecordings();

describe("the server answers as recorded or as in divergences.yaml", { timeout: 60_000 }, () => {
  test.each(recordings)("$case", async (recording) => {
    const { answer, differences, stale } = await replay(recording, divergencesOf(divergences, recording.case));
    expect(differences).toEqual([]);
    expect(findErrorsWithoutFault(answer), "these errors do not say who caused them").toEqual([]);
    expect(stale, "these divergences do not differ").toEqual([]);
  });
});
