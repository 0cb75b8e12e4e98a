import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleStory } from "../../../../test-support/clients/bundle-story.js";
import { EXPECTED, startStoryServer } from "../../../../test-support/clients/story.js";
import { createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { requireChromium } from "../../../../test-support/requirement.js";

const chromium = await requireChromium();
const PAGE = `
  import { play } from "./story.js";
  const url = new URLSearchParams(location.search).get("server");
  const report = await play(url).catch((error) => ({ error: String(error?.stack ?? error) }));
  await fetch("/report", { method: "POST", body: JSON.stringify(report) });
`;

test.skipIf(!chromium.available)(
  "the client plays, resumes and reports errors in a browser, on a page of another origin",
  async () => {
    await using project = await createProject();
    await using page = await servePage(await bundleStory(project, PAGE));
    await using server = await startStoryServer([page.origin]);
    await using _browser = openBrowser(`${page.origin}/?server=${server.url}`, project);
    expect(await page.report).toEqual(EXPECTED);
    await expect.poll(server.activeSessions).toBe(0);
  },
  120_000,
);

async function servePage(scripts: Map<string, string>) {
  let resolve: (body: unknown) => void = () => {};
  const report = new Promise((settle) => {
    resolve = settle;
  });
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://page");
    if (pathname === "/report") resolve(JSON.parse((await request.toArray()).join("")));
    const script = scripts.get(pathname.slice(1));
    response.setHeader("content-type", script ? "text/javascript" : "text/html");
    response.end(script ?? '<!doctype html><script type="module" src="/entry.js"></script>');
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
