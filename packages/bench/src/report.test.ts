import { describe, expect, it } from "vitest";
import { interleave, medianOf, ratioOf } from "./matrix.js";
import { judgeRow, type ReportRow, renderCsv, renderReport } from "./report.js";

const row: ReportRow = {
  id: "steps",
  measure: "steps",
  unit: "per second",
  samples: { ours: [800, 1200, 90_000], control: [1000, 1000, 1000], python: [100, null, null] },
  targets: [
    { limit: "at least", value: 1.2, of: "control" },
    { limit: "at most", value: 7, of: "python" },
    { limit: "at least", value: 1, of: "other" },
    { limit: "at most", value: 1200 },
  ],
};

describe("a comparison", () => {
  it("measures the subjects in turn, each round in the other direction", async () => {
    const order: string[] = [];
    const measure = (name: string) => async (round: number) => order.push(`${name}${round}`);
    const samples = await interleave(2, { a: measure("a"), b: measure("b") });
    expect(order).toEqual(["a0", "b0", "b1", "a1"]);
    expect(samples).toEqual({ a: [1, 4], b: [2, 3] });
  });

  it("uses medians, and ratios only within a round", () => {
    expect(medianOf(row.samples, "ours")).toBe(1200);
    expect(ratioOf(row.samples, "ours", "control")).toBe(1.2);
    expect(ratioOf(row.samples, "ours", "python")).toBe(8);
    expect(medianOf({ ours: [1, 2] }, "ours")).toBe(1.5);
    expect(medianOf(row.samples, "other")).toBeUndefined();
    expect(ratioOf(row.samples, "ours", "other")).toBeUndefined();
    expect(ratioOf({ ours: [0, 1], control: [0, 0] }, "ours", "control")).toBeUndefined();
  });
});

describe("a report", () => {
  it("judges every target of a row", () => {
    expect(judgeRow(row, "ours")).toEqual([true, false, undefined, true]);
  });

  it("is a table, with the facts before and the notes after it", () => {
    const text = renderReport({
      title: "Cost",
      facts: { node: "v20" },
      subjects: ["ours", "control", "python"],
      rows: [row, { ...row, measure: "memory", unit: "kB", samples: { ours: [0.08519] }, targets: [] }],
      notes: ["Noisy."],
    });
    expect(text).toBe(`# Cost

- node: v20

| measure | ours | control | python | ours : control | ours : python | target | reached |
| --- | --: | --: | --: | --: | --: | --: | --: |
| steps (per second) | 1,200 (800–90,000) | 1,000 | 100 | 1.2 | 8 | >= 1.2 × control, <= 7 × python, >= 1 × other, <= 1200 | yes, **no**, not measured, yes |
| memory (kB) | 0.0852 | – | – | – | – | none |  |

- Noisy.
`);
  });

  it("writes every sample as a line of CSV", () => {
    const lines = renderCsv([row]).trimEnd().split("\n");
    expect(lines[0]).toBe("row,unit,round,subject,value");
    expect(lines).toContain("steps,per second,3,ours,90000");
    expect(lines).toContain("steps,per second,1,python,100");
    expect(lines).toHaveLength(1 + 3 + 3 + 1);
    const [, named] = renderCsv([{ ...row, unit: "ms, p50", samples: { "ours, own class": [1.5] } }]).split("\n");
    expect(named).toBe('steps,"ms, p50",1,"ours, own class",1.5');
  });
});
