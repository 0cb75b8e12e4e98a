import { describe, expect, it } from "vitest";
import { burstRow, repeated } from "../../../../test-support/deploy/burst-rows.js";
import { type Drawing, findCollisions, readDrawing } from "../../../../test-support/svg.js";
import type { NamedRow } from "../burst/results/max-batch.js";
import { createFigures } from "./figures.js";
import { drawSvg } from "./plot.js";

const GRID = [32, 128, 512, 2048, 4096, 8192, 16_384];
const CLOSE_GRID = [32, 100, 128, 200, 256, 400, 512, 800, 1024, 2048, 4096, 8192, 16_384];
const MANY = Array.from({ length: 25 }, (_, index) => `subject-${index + 1}`);

/** Bursts in three different repetitions; batches above a limit fail. */
function sweep(subjects: readonly string[], { grid = GRID, waits = [1, 5] } = {}): NamedRow[] {
  return subjects.flatMap((subject, index) =>
    waits.flatMap((wait_seconds) =>
      grid.flatMap((requests) => {
        const held = requests <= (grid[grid.length - 1 - (index % 4)] ?? 0);
        const success_rate = held ? 1 : 0.5;
        const slow = 1 + index / 10;
        const burst = { subject, wait_seconds, requests, success_rate, requests_per_second: requests / slow };
        const took = { connect_p50_ms: requests * slow, total_p99_ms: 1000 * wait_seconds + requests * slow };
        return repeated({ ...burst, ...took }, [
          { requests_per_second: requests / slow / 1.3 },
          {},
          { requests_per_second: (requests / slow) * 1.3, total_p99_ms: took.total_p99_ms * 1.2 },
        ]);
      }),
    ),
  );
}

async function draw(rows: readonly NamedRow[]): Promise<Map<string, Drawing>> {
  const { drawn } = createFigures(rows);
  const pictures = drawn.map(async (figure) => [figure.name, readDrawing(await drawSvg(figure))] as const);
  return new Map(await Promise.all(pictures));
}

const of = (subject: string) => new RegExp(`subject: ${subject}($|;)`);
const ALL = ["max-batch", "latency-p99", "breakdown", "scaling"];

describe("the pictures of a comparison", () => {
  const many = draw(sweep(MANY));

  it.each([
    ["more subjects than colours in the list", () => many],
    ["names of a hundred characters", () => draw(sweep(["a", "b", "c"].map((end) => `${"x".repeat(99)}${end}`)))],
    ["two subjects and batches close together", () => draw(sweep(["a", "b"], { grid: CLOSE_GRID, waits: [1, 5, 10] }))],
  ])("with %s have no overlapping or clipped text", async (_, drawn) => {
    const drawings = await drawn();
    expect([...drawings.keys()]).toEqual(ALL);
    for (const [name, drawing] of drawings) {
      expect({ name, collisions: findCollisions(drawing) }).toEqual({ name, collisions: [] });
      for (const { text, left, right, top, bottom } of drawing.texts) {
        const inside = left >= 0 && top >= 0 && right <= drawing.width && bottom <= drawing.height;
        expect({ name, text, inside }).toEqual({ name, text, inside: true });
      }
      expect(drawing.texts.map(({ text }) => text)).not.toContainEqual(expect.stringContaining("…"));
    }
  });

  it("draw every subject in its own colour, the same in all pictures", async () => {
    const drawings = await many;
    const colours = new Map<string, Set<string | undefined>>(MANY.map((subject) => [subject, new Set()]));
    for (const [name, kind, subjects, marks] of [
      ["max-batch", "bar", MANY, 2],
      ["scaling", "point", MANY, 2 * GRID.length],
      ["scaling", "line mark", MANY, 2],
    ] as const) {
      for (const subject of subjects) {
        const found = drawings
          .get(name)
          ?.marks.filter((mark) => mark.kind === kind && of(subject).test(mark.description));
        expect({ name, kind, subject, marks: found?.length }).toEqual({ name, kind, subject, marks });
        for (const { colour } of found ?? []) colours.get(subject)?.add(colour);
      }
    }
    expect([...colours.values()].map(({ size }) => size)).toEqual(MANY.map(() => 1));
    expect(new Set([...colours.values()].flatMap((used) => [...used])).size).toBe(MANY.length);
    const cells = drawings.get("latency-p99")?.texts.filter(({ text }) => /^[\d.]+ (s|% ok)$/.test(text));
    expect(cells).toHaveLength(2 * MANY.length * GRID.length);
  });

  it("leave the end of a bar open when no larger batch was tried, and show repetitions that differ", async () => {
    const rows = [
      ...repeated({ subject: "open", requests: 64 }, [{}, {}, {}]),
      ...repeated({ subject: "closed", requests: 32 }, [{}, {}, {}]),
      ...repeated({ subject: "closed", requests: 64, success_rate: 0.9 }, [{ success_rate: 1 }, {}, {}]),
    ];
    const drawing = (await draw(rows)).get("max-batch");
    const texts = drawing?.texts.map(({ text }) => text);
    expect(texts).toEqual(
      expect.arrayContaining(["≥ 64", "32 (32–64)", expect.stringContaining("Example Processor 9000")]),
    );
    expect(texts?.join(" ")).toContain("3 repetitions of each burst.");
    expect(drawing?.marks.filter(({ kind }) => kind === "point").map(({ description }) => description)).toEqual([
      expect.stringMatching(of("open")),
    ]);
    const lines = drawing?.marks.filter(({ kind }) => kind === "rule mark" || kind === "tick");
    expect(lines?.map(({ description }) => description)).toEqual(Array(3).fill(expect.stringMatching(of("closed"))));
  });

  it("show the spread of every repeated burst in lines and cells", async () => {
    const drawings = await draw(sweep(["one", "two"], { waits: [1] }));
    expect(drawings.get("scaling")?.marks.filter(({ kind }) => kind === "rule mark")).toHaveLength(2 * GRID.length);
    expect(drawings.get("latency-p99")?.texts.map(({ text }) => text)).toContain("1.03–1.24");
  });
});

describe("a picture without information is omitted with its reason", () => {
  const reasons = (rows: readonly NamedRow[]) =>
    Object.fromEntries(createFigures(rows).omitted.map(({ name, reason }) => [name, reason]));

  it("of a single burst", () => {
    const rows = repeated({ subject: "one", requests: 32 }, [{}]);
    expect(createFigures(rows).drawn).toEqual([]);
    expect(reasons(rows)).toEqual({
      "max-batch": "it is ≥ 32 for every subject and wait.",
      "batch-per-core": "every subject ran on 2 cores, so it shows the same as the largest batch.",
      "latency-p99": "it is 1.02 s in every burst.",
      breakdown: "it is 15 ms at every largest batch.",
      scaling: "no wait has two batches with different rates.",
    });
  });

  it("of subjects that are all alike", () => {
    const rows = MANY.flatMap((subject) => repeated({ subject, requests: 32 }, [{}, {}, {}]));
    expect(createFigures(rows).drawn).toEqual([]);
  });

  it("of bursts that all failed", () => {
    const failed = { success_rate: 0, total_p99_ms: null, requests_per_second: 0 };
    const rows = [32, 64].flatMap((requests) => repeated({ subject: "one", requests, ...failed }, [{}, {}]));
    expect(createFigures(rows).drawn).toEqual([]);
    expect(reasons(rows)).toMatchObject({
      "max-batch": "it is none for every subject and wait.",
      breakdown: "no burst has 95 % success.",
    });
  });

  it("but not the batch per core of machines that differ", async () => {
    const rows = [burstRow({ subject: "small", requests: 32 }), burstRow({ subject: "large", requests: 32, cores: 8 })];
    const texts = (await draw(rows)).get("batch-per-core")?.texts.map(({ text }) => text);
    expect(texts).toEqual(expect.arrayContaining(["≥ 16", "≥ 4"]));
  });
});
