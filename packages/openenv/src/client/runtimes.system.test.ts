/** The same program on each runtime, with the client as it is built. The browser has a file of its own. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { bundleStory } from "../../../../test-support/clients/bundle-story.js";
import { EXPECTED, STORY, startStoryServer } from "../../../../test-support/clients/story.js";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { requireBun, requireDeno, requireWorkerd } from "../../../../test-support/requirement.js";

vi.setConfig({ testTimeout: 120_000 });
const [bun, deno, workerd] = [await requireBun(), await requireDeno(), await requireWorkerd()];
const RUNTIMES = [
  { name: "Node", path: process.execPath, available: true, args: [] },
  { name: "Bun", ...bun, args: [] },
  { name: "Deno", ...deno, args: ["run", "--allow-all"] },
];
const RUN = `
  import { play } from "./story.js";
  console.log(JSON.stringify(await play(process.argv[2])));
`;

for (const { name, path, available, args } of RUNTIMES) {
  test.skipIf(!available)(`the client plays, resumes and reports errors on ${name}`, async () => {
    await using server = await startStoryServer();
    await using project = await createProject({ "story.js": STORY, "run.mjs": RUN });
    const { stdout } = await promisify(execFile)(path, [...args, join(project.dir, "run.mjs"), server.url]);
    expect(JSON.parse(stdout)).toEqual(EXPECTED);
    await expect.poll(server.activeSessions).toBe(0);
  });
}

const WORKER = `
  import { play } from "./story.js";
  export default {
    async fetch(request) {
      try {
        return Response.json(await play(new URL(request.url).searchParams.get("server")));
      } catch (error) {
        return new Response(String(error?.stack ?? error), { status: 500 });
      }
    },
  };
`;

test.skipIf(!workerd.available)("the client plays, resumes and reports errors in a Cloudflare Worker", async () => {
  await using server = await startStoryServer();
  await using project = await createProject();
  const modules = await bundleStory(project, WORKER);
  const port = await findFreePort();
  for (const [name, text] of modules) await project.write(name, text);
  const config = await project.write("config.capnp", renderConfig([...modules.keys()], port));
  const worker = spawn(workerd.path, ["serve", config], { stdio: ["ignore", "inherit", "inherit"] });
  const exited = once(worker, "exit");
  try {
    const ask = () =>
      fetch(`http://127.0.0.1:${port}/?server=${encodeURIComponent(server.url)}`).catch(() => undefined);
    const response = await vi.waitUntil(ask, { timeout: 60_000 });
    expect(JSON.parse(await response.text())).toEqual(EXPECTED);
    await expect.poll(server.activeSessions).toBe(0);
  } finally {
    worker.kill();
    await exited;
  }
});

/** A Worker may reach public addresses only, unless its configuration says otherwise. */
function renderConfig(names: string[], port: number): string {
  const modules = names.map((name) => `(name = "${name}", esModule = embed "${name}")`);
  return `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .player),
        (name = "internet", network = (allow = ["public", "private"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
    );
    const player :Workerd.Worker = (
      modules = [${modules.join(", ")}],
      compatibilityDate = "2025-11-01",
    );
  `;
}
