import { describe, expect, test } from "vitest";
import { addCounts, boundary, Histogram, percentile } from "./histogram.js";

describe("a histogram of step latencies", () => {
  test.each([0.001, 0.0123, 0.5, 0.99, 1, 1.26, 3.9, 4, 250, 99_999])("reports %f ms at most 25 % too high", (ms) => {
    const histogram = new Histogram();
    histogram.record(ms);
    const told = percentile(histogram.counts, 0.5) as number;
    expect(told).toBeGreaterThanOrEqual(ms);
    expect(told).toBeLessThanOrEqual(ms * 1.25 + 1e-9);
    expect(histogram.sum).toBe(ms);
  });

  test.each([0, -1, 1e-9, 1e12, Number.MAX_VALUE, 5e-324])("counts %f ms in the first or last bucket", (ms) => {
    const histogram = new Histogram();
    histogram.record(ms);
    expect(histogram.counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    const edge = ms < 1 ? histogram.counts[0] : histogram.counts.at(-1);
    expect(edge).toBe(1);
  });

  test("has boundaries that rise by at most 25 %", () => {
    for (let bucket = 1; bucket < 120; bucket++) {
      const ratio = boundary(bucket) / boundary(bucket - 1);
      expect(ratio).toBeGreaterThan(1);
      expect(ratio).toBeLessThanOrEqual(1.25);
    }
  });

  test("computes percentiles over several histograms", () => {
    const [fast, slow] = [new Histogram(), new Histogram()];
    for (let i = 0; i < 98; i++) fast.record(1);
    slow.record(100);
    slow.record(100);
    const all = addCounts([fast.counts, slow.counts]);
    expect(percentile(all, 0.5)).toBe(1.25);
    expect(percentile(all, 0.98)).toBe(1.25);
    expect(percentile(all, 0.99)).toBe(112);
    expect(percentile(addCounts([]), 0.5)).toBeNull();
  });
});
