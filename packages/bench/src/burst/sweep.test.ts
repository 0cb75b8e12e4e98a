import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../../openenv/src/index.js";
import { serve } from "../../../openenv/src/server/index.js";
import { readResults } from "../report/read-results.js";
import { renderBursts } from "../report/tables.js";
import { createGenerator } from "./generator/generator.js";
import { openResultFiles } from "./results/result-files.js";
import { runSweep, type Sweep } from "./sweep.js";

const FIRST = 8;

const contract = defineContract({ name: "warming_env", action: z.object({}), observation: z.object({ pid: z.int() }) });

test("the first burst of a run is in no row of the repetitions, and no request comes before it", async () => {
  let sessions = 0;
  const environment = defineEnvironment(contract, () => {
    const pid = ++sessions;
    return {
      reset: () => ({ observation: { pid } }),
      step: () => {
        if (pid <= FIRST) throw new Error("still cold");
        return { observation: { pid } };
      },
    };
  });
  await using server = await serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs: 32 });
  const dir = await mkdtemp(join(tmpdir(), "openenv-sweep-"));
  try {
    const { url } = server;
    const sweep: Sweep = {
      servers: [{ url, address: "127.0.0.1", port: 0, local: true, token: undefined }],
      modes: ["ws"],
      requestsGrid: [FIRST, 4],
      waitGrid: [0],
      reps: 2,
      timeoutMs: 20_000,
      action: {},
      hardware: "",
      cores: null,
    };
    const checked: string[] = [];
    const rows = await runSweep(sweep, {
      generator: createGenerator(),
      files: openResultFiles(dir, "bursts"),
      signal: new AbortController().signal,
      checkSubject: async (located) => void checked.push(located.url),
      onProgress: () => {},
      onBurst: () => {},
    });
    expect(checked).toEqual([url]);
    expect(rows.map(({ requests, rep, made, succeeded }) => [requests, rep, made, succeeded])).toEqual([
      [8, "first", 8, 0],
      [8, 1, 8, 8],
      [8, 2, 8, 8],
      [4, 1, 4, 4],
      [4, 2, 4, 4],
      [8, "all", 16, 16],
      [4, "all", 8, 8],
    ]);
    const raw = readFileSync(join(dir, "raw.jsonl"), "utf8").trim().split("\n");
    expect(raw.filter((line) => JSON.parse(line).rep === "first")).toHaveLength(FIRST);

    const table = renderBursts(readResults([dir]).bursts)
      .split("\n")
      .slice(2);
    expect(table.map((line) => line.split(" | ").slice(2, 5))).toEqual([
      ["4", "2", "100.0 %"],
      ["8", "first", "0.0 %"],
      ["8", "2", "100.0 %"],
    ]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
