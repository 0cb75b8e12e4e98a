import { checkProvider, commandProvider } from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../../../test-support/requirement.js";
import { TINY } from "../../../../test-support/upstreams/fleets.js";

const python = await requirePython();

describe.skipIf(!python.available)("a command in Python", () => {
  const command = `"${python.path}" "${TINY}"`;

  test("keeps the promises of every provider", { timeout: 180_000 }, async () => {
    const report = await checkProvider({
      create: (options) => commandProvider({ command, ...options }),
      works: { directory: "." },
      actions: [{ text: "hello" }],
      writes: "tiny upstream listens",
      broken: { "no such folder": { spec: { directory: "nowhere" }, code: "SOURCE_NOT_FOUND", message: /nowhere/ } },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  });

  test("is played", async () => {
    await using server = await commandProvider({ command }).start({ directory: "." });
    await using env = await connect(server.url);
    await env.reset({ seed: 7 });
    expect(await env.step({ text: "hello" })).toMatchObject({ observation: { text: "hello", count: 1 } });
    expect(await server.logs()).toContain("tiny upstream listens");
  });
});
