import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import echo from "../../../envs/echo/server/environment.js";
import { NGINX, run } from "../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { requireNginx } from "../../../test-support/requirement.js";
import { ELSEWHERE, requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();
const nginx = await requireNginx();
const GUIDE = join(import.meta.dirname, "../../../docs/guide/web.md");
const PREFIX = "/envs/doors";

describe.skipIf(!chromium.available || !nginx.available)("behind the nginx of the guide", () => {
  const { start, open, expectProblem } = usePages(chromium);

  test("the page finds its server below the prefix, under a name in ALLOWED_HOSTS", async () => {
    // Without TLS a browser ignores one header.
    expectProblem(/Cross-Origin-Opener-Policy header has been ignored/);
    const port = await findFreePort();
    const origin = `http://${ELSEWHERE}:${port}`;
    const server = await start(echo, { allowedHosts: [ELSEWHERE] });
    await using _proxy = await startNginx(server.url, port);
    const page = await open({ url: origin }, { path: PREFIX });
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.getByLabel("Message").fill("behind nginx");
    await page.getByLabel("Message").press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await page.locator(".pane--step").innerText()).toContain("behind nginx");
    await page.getByRole("link", { name: "About" }).click();
    await page.getByText(`connect("${origin}${PREFIX}")`).waitFor();
    await page.close();
  });

  test("a server on a loopback address rejects a name that is not allowed, with advice", async () => {
    // The icon that browsers request for any page is outside of the prefix.
    expectProblem(/status of 40[34]/);
    const port = await findFreePort();
    const server = await start(echo);
    await using _proxy = await startNginx(server.url, port);
    const page = await open({ url: `http://${ELSEWHERE}:${port}` }, { path: PREFIX });
    await page.getByText(/add example\.org to ALLOWED_HOSTS/).waitFor();
  });
});

/** The block of the guide with the server's port, in a minimal nginx configuration. */
async function startNginx(server: string, port: number): Promise<AsyncDisposable> {
  const [, block = ""] = /```nginx\n([\s\S]*?)```/.exec(await readFile(GUIDE, "utf8")) ?? [];
  expect(block).toContain(`location ${PREFIX}/ {`);
  expect(block).toContain("http://127.0.0.1:8000/");
  const folder = await mkdtemp(join(tmpdir(), "openenv-nginx-"));
  const config = join(folder, "nginx.conf");
  const location = block.replace("http://127.0.0.1:8000/", `http://127.0.0.1:${new URL(server).port}/`);
  await writeFile(
    config,
    `error_log stderr warn;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:${port};
${location}
  }
}
`,
  );
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const running = await run(nginx.path, NGINX.args(config), { url: `http://127.0.0.1:${port}${PREFIX}` });
    return {
      async [Symbol.asyncDispose]() {
        await running.end();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
