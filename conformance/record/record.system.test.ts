import { expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { listTranscripts } from "../replay/load.js";
import { record } from "./record.js";

const python = await requirePython();

test.skipIf(!python.available)(
  "recorded again with the released package, all transcripts are the same",
  async () => {
    const lines = await record(python.path);
    const different = lines.filter(({ differences }) => differences.length > 0);
    expect(Object.fromEntries(different.map((line) => [line.case, line.differences]))).toEqual({});
    expect(new Set(lines.map(({ file }) => file))).toEqual(new Set(listTranscripts()));
  },
  300_000,
);
