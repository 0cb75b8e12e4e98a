import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import {
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { requireChromium } from "../../../../test-support/requirement.js";

const chromium = await requireChromium();
const PLAY = `
  import { connect } from "openenv-ts/client";
  const url = new URLSearchParams(location.search).get("server");
  const report = (body) => fetch("/report", { method: "POST", body: JSON.stringify(body) });
  try {
    const env = await connect(url);
    await env.reset({ seed: 1 });
    const { observation, reward, outcome } = await env.step({ amount: 2 });
    const refused = await env.step({ amount: "many" }).catch(({ code }) => code);
    await env.close();
    report({ observation, reward, outcome, refused });
  } catch (error) {
    report({ error: String(error?.stack ?? error) });
  }
`;

describe.skipIf(!chromium.available)("in a browser, on a page of another origin", () => {
  test("the client plays an episode", async () => {
    await using project = await createProject({ "environment.ts": counterModule(), "play.js": PLAY });
    await using page = await servePage(await bundle(project));
    const env = { ALLOWED_ORIGINS: page.origin };
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir, env });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    await using _browser = openBrowser(`${page.origin}/?server=${url}`, project);
    const expected = { observation: { count: 2 }, reward: 1, outcome: "ok", refused: "VALIDATION_ERROR" };
    expect(await page.report).toEqual(expected);
  }, 120_000);
});

/** What a bundler makes of the client: what is imported dynamically stays apart, builtins of Node are left alone. */
async function bundle(project: Project): Promise<Map<string, string>> {
  const { outputFiles } = await build({
    entryPoints: [join(project.dir, "play.js")],
    outdir: join(project.dir, "out"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [path.slice(join(project.dir, "out").length), text]));
}

async function servePage(scripts: Map<string, string>) {
  let resolve: (body: unknown) => void = () => {};
  const report = new Promise((settle) => {
    resolve = settle;
  });
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://page");
    if (pathname === "/report") resolve(JSON.parse((await request.toArray()).join("")));
    const script = scripts.get(pathname);
    response.setHeader("content-type", script ? "text/javascript" : "text/html");
    response.end(script ?? '<!doctype html><script type="module" src="/play.js"></script>');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    report,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function openBrowser(url: string, project: Project): AsyncDisposable {
  const profile = `--user-data-dir=${join(project.dir, "profile")}`;
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", profile];
  const child = spawn(chromium.path, [...flags, "--remote-debugging-port=0", url], { stdio: "ignore" });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}
