import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { type Coding, openSession, prepareCoding, type SandboxSession } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();

describe.skipIf(!bubblewrap.available)("JavaScript", { timeout: 60_000 }, () => {
  let environment: Coding;
  let impatient: Coding;
  let session: SandboxSession;
  beforeAll(async () => {
    environment = (await prepareCoding({ SANDBOX_MEMORY_MB: "64" })).environment;
    impatient = (await prepareCoding({ SANDBOX_MEMORY_MB: "64", SANDBOX_TIMEOUT: "2" })).environment;
  });
  beforeEach(async () => {
    session = await openSession(environment);
    return () => session.env.close();
  });
  const run = (code: string) => session.run(code, "javascript");

  test("variables and functions are kept between steps and cleared by a reset", async () => {
    await run("const x = 2; let y = 3; var z = 4; function twice(n) { return 2 * n }");
    expect(await run("console.log(twice(x) + y + z)")).toMatchObject({ stdout: "11\n", exit_code: 0, reward: 1 });
    await session.env.reset();
    expect(await run("x")).toMatchObject({ exit_code: 1, outcome: "error", reward: 0 });
  });

  test("each language of a session has its own variables", async () => {
    await session.run("x = 'python'");
    await run("const x = 'javascript'");
    expect((await session.run("print(x)")).stdout).toBe("python\n");
    expect((await run("console.log(x)")).stdout).toBe("javascript\n");
  });

  test("the console writes to both outputs, and shows values of every kind", async () => {
    const result = await run(`console.log("text", 1, 2n, null, undefined, true, [1, "two"], { a: { b: 3n } });
      console.info(new Map([[1, 2]]), () => 1, Symbol("s")); console.debug("debug");
      console.warn("careful"); console.error(new TypeError("wrong"));
      const ring = {}; ring.ring = ring; console.log(ring)`);
    expect(result.stdout).toBe(
      'text 1 2n null undefined true [1,"two"] {"a":{"b":"3n"}}\n[[1,2]] [Function ] Symbol(s)\ndebug\n[object Object]\n',
    );
    expect(result.stderr).toMatch(/^careful\nTypeError: wrong\n {4}at /);
  });

  test("an error is reported with its stack and what was printed before it", async () => {
    await run("function fail() { throw new RangeError('too far') }");
    const result = await run("console.log('first');\nfail()");
    expect(result).toMatchObject({ stdout: "first\n", exit_code: 1, outcome: "error", state_lost: false });
    expect(result.stderr).toMatch(
      /^RangeError: too far\n {4}at fail \(step-1\.js:1:\d+\)\n {4}at <eval> \(step-2\.js:2:\d+\)\n$/,
    );
    expect((await run("throw 'a text'")).stderr).toBe("a text\n");
    expect((await run("throw null")).stderr).toBe("null\n");
    expect((await run("let = =")).stderr).toContain("SyntaxError");
    expect((await run("throw { get message() { throw 1 }, toJSON() { throw 2 } }")).exit_code).toBe(1);
  });

  test("promises and jobs run to their end, and a rejected last value is the step's error", async () => {
    const result = await run(
      "let got = []; (async () => { for (const n of [1, 2]) got.push(await n); console.log(got.join()) })()",
    );
    expect(result).toMatchObject({ stdout: "1,2\n", exit_code: 0 });
    expect(await run("Promise.resolve().then(() => console.log('later')); console.log('now')")).toMatchObject({
      stdout: "now\nlater\n",
    });
    const rejected = await run("(async () => { await 0; throw new Error('too late') })()");
    expect(rejected).toMatchObject({ exit_code: 1, outcome: "error" });
    expect(rejected.stderr).toContain("Error: too late");
    expect((await run("new Promise(() => {})")).stderr).toContain("never settled");
    expect((await run("console.log('well')")).stdout).toBe("well\n");
  });

  test.each([
    ["while (true);", "an endless loop"],
    ["/(a+)+$/.test('a'.repeat(64) + 'b')", "an endless match"],
    ["try { while (true); } catch {} finally { while (true); }", "a loop that catches everything"],
  ])("%s is stopped and keeps its variables", async (code) => {
    await using stopped = await openSession(impatient);
    await stopped.run("const kept = 'kept'", "javascript");
    const result = await stopped.run(`console.log("began"); ${code}`, "javascript");
    expect(result).toMatchObject({
      stdout: "began\n",
      exit_code: 124,
      outcome: "timeout",
      state_lost: false,
      reward: 0,
    });
    expect(result.stderr).toBe("sandbox: the program ran longer than 2 s and was stopped\n");
    expect((await stopped.run("console.log(kept)", "javascript")).stdout).toBe("kept\n");
  });

  test("jobs without end are stopped, and take no time of later steps", async () => {
    await using stopped = await openSession(impatient);
    const result = await stopped.run(
      "const again = () => { Promise.resolve().then(again) }; again(); again(); again()",
      "javascript",
    );
    expect(result).toMatchObject({ exit_code: 124, outcome: "timeout" });
    expect((await stopped.run("console.log('well')", "javascript")).stdout).toBe("well\n");
  });

  test.each([
    ["{ const all = []; while (true) all.push(new Array(100000).fill(1)) }", "out of memory"],
    ["'x'.repeat(1 << 30)", "invalid string length|out of memory"],
    ["new ArrayBuffer(1024 ** 3)", "out of memory|invalid"],
    ["(function deeper() { return deeper() + 1 })()", "stack overflow"],
  ])("%s is an error, and the session continues", async (code, words) => {
    const result = await run(code);
    expect(result).toMatchObject({ exit_code: 1, outcome: "error" });
    expect(result.stderr).toMatch(new RegExp(words));
    expect((await run("console.log('well')")).stdout).toBe("well\n");
  });

  test("variables that take all the memory are discarded and reported", async () => {
    const result = await run(`let top = null;
      for (let size = 1 << 20; size > 8; size >>= 1) try { while (true) top = { top, block: new ArrayBuffer(size) } } catch {}
      while (true) top = { top }`);
    expect(result).toMatchObject({ exit_code: 1, outcome: "died", state_lost: true });
    expect(result.stderr).toContain("all of its memory");
    expect((await run("console.log('well')")).stdout).toBe("well\n");
  });

  test("a program that breaks the engine itself gets a new one, which is said", async () => {
    const result = await run("const nested = '('.repeat(100000); eval(nested)");
    expect(result).toMatchObject({ exit_code: 1, state_lost: true });
    expect(result.stderr).toContain("variables and imports are lost");
    expect((await run("console.log('well')")).stdout).toBe("well\n");
  });

  test("nothing of the machine is within reach", async () => {
    const names = "require process fetch setTimeout Deno Bun WebAssembly XMLHttpRequest std os scriptArgs print";
    const code = `console.log("${names}".split(" ").filter((name) => typeof globalThis[name] !== "undefined").join())`;
    expect((await run(code)).stdout).toBe("\n");
    expect((await run("import('fs').then(() => console.log('loaded'))")).stdout).toBe("");
    const outwards = "console.log(typeof this.constructor.constructor('return globalThis')().process)";
    expect((await run(outwards)).stdout).toBe("undefined\n");
  });

  test("a broken console and broken built-ins break the programs of this session at most", async () => {
    await run("console = null; JSON.stringify = null; Object.prototype.toString = null; String = null");
    expect((await run("throw new Error('shown')")).stderr).toContain("Error: shown");
    await session.env.reset();
    expect((await run("console.log('well')")).stdout).toBe("well\n");
  });

  test("long output is cut, which is said", async () => {
    const result = await run("for (let n = 0; n < 5000; n++) console.log('x'.repeat(99))");
    expect(result).toMatchObject({ truncated: true, exit_code: 0 });
    expect(result.stdout.length).toBeLessThan(10_200);
    expect(result.stdout).toContain("left out");
  });
});
