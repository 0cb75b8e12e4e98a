import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../../../test-support/requirement.js";
import { createGenerator } from "./generator/generator.js";
import { measureThroughput } from "./results/throughput.js";

const CONTROLS = join(import.meta.dirname, "../../../../benchmarks/controls");
/** Loading the Python package takes seconds. */
const LIMIT = { timeout: 180_000 };

const python = await requirePython();

describe.skipIf(!python.available)("a server of the Python package", () => {
  test("plays bursts over both transports, rejects by type and steps in a closed loop", LIMIT, async () => {
    await using server = await startPython(python.path, 64);
    const { url } = server;
    const generator = createGenerator();
    const action = { wait_seconds: 0.05 };
    const job = { url, address: "127.0.0.1", action, requests: 64, timeoutMs: 60_000 };
    for (const mode of ["ws", "http"] as const) {
      const { rows } = await generator.burst({ ...job, mode }, () => {});
      expect(rows.filter(({ success }) => success)).toHaveLength(64);
      expect(new Set(rows.map(({ session_hash }) => session_hash)).size).toBe(64);
      // Its HTTP routes are stateless.
      expect(new Set(rows.map(({ same_session }) => same_session))).toEqual(new Set([mode === "ws"]));
    }
    const { rows } = await generator.burst(
      { ...job, mode: "ws", requests: 80, action: { wait_seconds: 10 } },
      () => {},
    );
    expect(rows.filter(({ error_type }) => error_type === "CAPACITY_REACHED")).toHaveLength(16);
    const measure = () =>
      measureThroughput(generator, {
        server: { url, address: "127.0.0.1", port: Number(new URL(url).port), local: true, token: undefined },
        hardware: "",
        cores: null,
        connections: 4,
        seconds: 2,
        action: { wait_seconds: 0 },
      });
    let row = await measure();
    // It frees the slots of the burst a moment after their sockets have closed.
    const deadline = Date.now() + 20_000;
    while (row.error_type === "CAPACITY_REACHED" && Date.now() < deadline) row = await measure();
    expect(row).toMatchObject({ error_type: null, connections: 4 });
    expect(row.steps).toBeGreaterThan(0);
  });
});

async function startPython(path: string, capacity: number): Promise<AsyncDisposable & { url: string }> {
  const args = ["-m", "uvicorn", "--app-dir", CONTROLS, "python_benchmark:app", "--port", "0"];
  const child = spawn(path, args, { env: { ...process.env, MAX_CONCURRENT_ENVS: String(capacity) } });
  const ended = once(child, "exit");
  let text = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  for (;;) {
    const url = /running on (http:\S+)/.exec(text)?.[1];
    if (url) {
      return {
        url,
        [Symbol.asyncDispose]: async () => {
          child.kill("SIGKILL");
          await ended;
        },
      };
    }
    await Promise.race([once(child.stderr, "data"), ended.then(() => Promise.reject(new Error(text)))]);
  }
}
