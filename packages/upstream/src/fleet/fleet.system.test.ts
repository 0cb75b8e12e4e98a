import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "openenv-ts/client";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../../../test-support/requirement.js";
import { COMMAND, createFleets, NEVER, TINY } from "../../../../test-support/upstreams/fleets.js";

const python = await requirePython();
const start = createFleets();
const PACKAGE = join(import.meta.dirname, "../..");
const tiny = `"${python.path}" "${TINY}"`;

async function isListening(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    () => true,
    () => false,
  );
}

test.each(["SIGKILL", "SIGTERM"] as const)("%s of the front leaves no process", { timeout: 60_000 }, async (signal) => {
  const script = `
    import { startFleet } from "@openenv-ts/upstream";
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const fleet = await startFleet({ command: ${JSON.stringify(COMMAND)}, processes: 3, log });
    const places = await Promise.all([1, 2, 3].map(() => fleet.take(new AbortController().signal)));
    console.log(JSON.stringify(places.map(({ upstream }) => upstream.url)));
    setInterval(() => {}, 1_000);`;
  const args = ["--input-type=module", "--eval", script];
  const front = spawn(process.execPath, args, { cwd: PACKAGE, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: front.stdout }), "line")) as [string];
  const urls = JSON.parse(line) as string[];
  expect(await Promise.all(urls.map(isListening))).toEqual([true, true, true]);
  front.kill(signal);
  await once(front, "close");
  const left = async (): Promise<boolean[]> => Promise.all(urls.map(isListening));
  await expect.poll(left, { timeout: 20_000 }).toEqual([false, false, false]);
});

describe.skipIf(!python.available)("upstreams in Python", () => {
  test("play, die and hang", { timeout: 60_000 }, async () => {
    const { fleet } = await start({ command: tiny, processes: 2, pingIntervalMs: 1_000 });
    const play = async (text: string): Promise<string> => {
      using place = await fleet.take(NEVER);
      const env = await connect(place.upstream.url, { check: false });
      await env.reset({ seed: 7 });
      const step = env.step({ text }).catch(() => undefined);
      const answer = await Promise.race([step, place.ended]);
      const result = typeof answer === "string" ? answer : JSON.stringify(answer?.observation ?? (await place.ended));
      void env.close().catch(() => {});
      return result.replace(/^"|"$/g, "").replace(/process \d/, "process");
    };
    expect(await play("hello")).toBe(await play("hello"));
    expect(await play("kill")).toBe("process ended with signal 9");
    expect(await play("exit")).toMatch(/^process ended with code 3: tiny upstream listens at 127\.0\.0\.1:\d+$/);
    expect(await play("hang")).toMatch(/^process did not answer for 3 s/);
    expect(await play("hello")).toContain("hello");
  });

  test("500 processes have 500 sessions, and end together", { timeout: 600_000 }, async () => {
    const { fleet } = await start({ command: tiny, processes: 500, startsAtOnce: 8, pingIntervalMs: 60_000 });
    await expect.poll(() => fleet.capacity(), { timeout: 500_000, interval: 1_000 }).toBe(500);
    const places = await Promise.all(Array.from({ length: 500 }, () => fleet.take(NEVER)));
    const urls = places.map(({ upstream }) => upstream.url);
    expect(new Set(urls).size).toBe(500);
    for (const place of places) place[Symbol.dispose]();
    await fleet[Symbol.asyncDispose]();
    expect(await Promise.all(urls.map(isListening))).not.toContain(true);
  });

  test("a process cannot use more memory than the limit", { timeout: 60_000 }, async ({ skip }) => {
    const { fleet, lines } = await start({ command: tiny, memoryLimitMb: 128 });
    const note = lines.find(({ message }) => message.startsWith("memoryLimitMb is not enforced"));
    if (note) skip(String(note["error"]));
    using place = await fleet.take(NEVER);
    await using env = await connect(place.upstream.url, { check: false });
    await env.reset();
    await env.step({ text: "leak" });
    const second = env.step({ text: "leak" });
    await expect(second).rejects.toThrow();
    expect(await place.ended).toBe("process 1 ended with signal 9: it used more than 128 MiB");
    await fleet[Symbol.asyncDispose]();
    expect(cgroups()).toEqual([]);
  });
});

/** The cgroups that were left. */
function cgroups(): string[] {
  const root = "/sys/fs/cgroup";
  if (!existsSync(root)) return [];
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /openenv-upstream-\d+$/.test(name));
}
