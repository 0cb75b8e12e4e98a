import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SERVERS, writeBundle } from "../../../../test-support/commands/images.js";
import { run } from "../../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../../test-support/free-port.js";

const TOKEN = "token-of-the-operator";

test("a server that is bundled into one file answers all of its pages, and keeps sessions by address", {
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "openenv-bundled-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const port = await findFreePort();
  const file = join(folder, "server.mjs");
  await writeBundle(
    SERVERS.counter.replace('host: "0.0.0.0"', `host: "127.0.0.1", port: ${port}, operatorToken: "${TOKEN}"`),
    file,
  );
  const url = `http://127.0.0.1:${port}`;
  const server = await run(process.execPath, [file], { url, cwd: folder });
  try {
    for (const path of ["/health", "/metadata", "/schema", "/metrics", "/openapi.json", "/docs", "/sessions"]) {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` } });
      expect([path, response.status, await response.text()]).toEqual([path, 200, expect.any(String)]);
    }
    const named = `${url}/session/run-7_worker-3_5f1c9a/reset`;
    expect((await fetch(named, { method: "POST", body: "{}" })).status).toBe(200);
  } finally {
    await server.end();
  }
});
