import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "./root.mjs";

/** The setup installs and builds what is missing or stale. */
const LIMIT = { timeout: 120_000 };

test("npm start serves the echo environment and ends with npm", LIMIT, async () => {
  const { child, url } = await start("npm", ["start", "--", "--log-level", "warn"]);
  const headers = { "content-type": "application/json" };
  const body = '{"action":{"message":"hello"}}';
  const answer = await fetch(`${url}/step`, { method: "POST", headers, body });
  expect(await answer.json()).toMatchObject({ observation: { echoed_message: "hello" } });
  child.kill("SIGTERM");
  await expect.poll(() => answers(url), { timeout: 60_000 }).toBe(false);
});

test("a signal reaches the server and its exit code is returned", LIMIT, async () => {
  const { child, url } = await start(process.execPath, ["scripts/start.mjs"]);
  expect(await answers(url)).toBe(true);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

async function start(command, args) {
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, PORT: "0" } });
  onTestFinished(() => void child.kill("SIGTERM"));
  let output = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    output += chunk;
    const url = /at (http:\S+)/.exec(output)?.[1];
    if (url) return { child, url };
  }
  throw new Error(`exited without printing an address:\n${output}`);
}

function answers(url) {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}
