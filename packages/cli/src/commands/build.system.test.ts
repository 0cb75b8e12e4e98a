import { execFile } from "node:child_process";
import { appendFile, cp, readFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createProject,
  type Project,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { leaveBehind } from "../../../../test-support/commands/leave-behind.js";
import { createNpmImage, docker, inspectImage } from "../../../../test-support/commands/npm-image.js";
import { createPublishable } from "../../../../test-support/commands/publishable.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { requireDocker } from "../../../../test-support/requirement.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { connect } from "../../../openenv/src/client/index.js";
import { dockerProvider } from "../../../providers/src/index.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";
import { stageSpace } from "../push/stage-space.js";

const ECHO = join(import.meta.dirname, "../../../../envs/echo");
const BASE = "node:20-slim";
/** An environment whose step has no end. */
const SLOW = `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const slow = defineContract({ name: "echo_env", action: z.object({}), observation: z.object({}) });
  export default defineEnvironment(slow, () => ({
    reset: () => ({ observation: {} }),
    step: () => new Promise(() => {}),
  }));`;
const LIMIT_BYTES = 25e6;
/** Packages are fetched, and other tests run. */
const TIME_LIMIT = { timeout: 600_000 };
const engine = await requireDocker();

describe.skipIf(!engine.available)("the image of the echo environment", TIME_LIMIT, () => {
  const tag = `openenv-test-echo:${process.pid}`;
  let project: Project;
  let dir: string;
  let npm: string;
  let commands: string[];
  let result: { tag: string; image: string; bytes: number; build_seconds: number; start_seconds: number };
  const build = (...args: string[]) =>
    runCommand(["build", dir, "-t", tag, "--build-arg", `BUILD_BASE=${npm}`, "--build-arg", `BASE=${BASE}`, ...args], {
      cwd: project.dir,
    });

  beforeAll(async () => {
    npm = await createNpmImage(BASE);
    project = await createProject();
    dir = join(project.dir, "echo-env");
    expect(await runCommand(["init", "echo-env"], { cwd: project.dir })).toMatchObject({ code: 0 });
    for (const file of ["models.ts", "server/environment.ts", "openenv.yaml"])
      await cp(join(ECHO, file), join(dir, file));
    // The template's client asks for it by this name.
    await appendFile(join(dir, "models.ts"), "\nexport { echo as contract };\n");
    const built = await build("--json");
    expect(built).toMatchObject({ code: 0, stderr: "" });
    result = JSON.parse(built.stdout) as typeof result;
  }, TIME_LIMIT.timeout);

  afterAll(async () => {
    await docker("rmi", "--force", tag, `${tag}-plain`, `${tag}-space`).catch(() => {});
    await project?.[Symbol.asyncDispose]();
  });

  test("is at most 25 MB larger than its base, and build says so", async () => {
    const [image, base] = [await inspectImage(tag), await inspectImage(BASE)];
    expect(result).toMatchObject({ tag, image: image.Id, bytes: image.Size });
    expect(image.Size - base.Size).toBeLessThanOrEqual(LIMIT_BYTES);
    expect(result.build_seconds).toBeGreaterThan(0);
    expect(result.start_seconds).toBeGreaterThan(0);
  });

  test("is set up for many sessions, is not root, has a health check and its name", async () => {
    const { User, Env, ExposedPorts, Labels } = (await inspectImage(tag)).Config;
    expect(User).toBe("1000:1000");
    expect(Env).toEqual(
      expect.arrayContaining([
        "HOST=0.0.0.0",
        "PORT=8000",
        "WORKERS=4",
        "MAX_CONCURRENT_ENVS=100",
        "NODE_ENV=production",
        "SHUTDOWN_DRAIN=7",
        "SHUTDOWN_GRACE=1",
      ]),
    );
    expect(Object.keys(ExposedPorts ?? {})).toEqual(["8000/tcp"]);
    expect(Labels).toMatchObject({ "openenv.environment": "echo_env", "org.opencontainers.image.title": "echo_env" });
  });

  test("ends within the time of docker stop, and closes its sessions in order", async () => {
    const slow = `${tag}-slow`;
    await using context = await createProject({
      Dockerfile: `FROM ${tag}\nCOPY environment.js dist/server/environment.js\n`,
      "environment.js": SLOW,
    });
    await docker("build", "--quiet", "--tag", slow, context.dir);
    const id = await docker("run", "--detach", "--publish", "127.0.0.1::8000", slow);
    try {
      const url = `http://${await docker("port", id, "8000/tcp")}`;
      // Docker's proxy takes a connection before the server listens, and may leave it without an answer.
      const status = () =>
        fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
          (answer) => answer.status,
          () => 0,
        );
      await vi.waitUntil(async () => (await status()) === 200, { timeout: 60_000, interval: 200 });
      await using idle = await openTestSocket(`${url}/ws`);
      await using busy = await openTestSocket(`${url}/ws`);
      for (const socket of [idle, busy]) await socket.ask({ type: "reset" });
      busy.send({ type: "step", data: {} });
      // The default of ten seconds leaves two for a machine that may be busy.
      await docker("stop", "-t", "30", id);
      expect([(await idle.closed).code, (await busy.closed).code]).toEqual([1012, 1012]);
      // One that is killed has 137.
      expect(await docker("inspect", "--format", "{{.State.ExitCode}}", id)).toBe("0");
    } finally {
      await docker("rm", "--force", id);
      await docker("rmi", "--force", slow);
    }
  });

  test("passes signals on to its server, and ends with its exit code", async () => {
    const id = await docker("run", "--detach", "--env", "WORKERS=1", tag);
    try {
      const says = (text: string) =>
        vi.waitUntil(async () => (await readLog(id)).includes(text), { timeout: 60_000, interval: 200 });
      await says(" at http://");
      await docker("kill", "--signal", "HUP", id);
      await says("reloaded the tokens");
      // The server itself, not what started it.
      await docker("exec", id, "sh", "-c", "kill -9 $(grep -l '^PPid:.1$' /proc/[0-9]*/status | cut -d/ -f3)");
      expect(await docker("wait", id)).toBe("137");
    } finally {
      await docker("rm", "--force", id);
    }
    const reap = ["sh", "/app/node_modules/openenv-ts/bin/reap.sh"];
    const failing = docker("run", "--rm", tag, ...reap, "node", "-e", "process.exit(7)");
    await expect(failing).rejects.toMatchObject({ code: 7 });
  });

  test("has JavaScript only: neither sources nor a compiler", async () => {
    const listed = await docker("run", "--rm", "--entrypoint", "find", tag, "/app", "-type", "f");
    const files = listed.split("\n");
    expect(files).toContain("/app/dist/server/app.js");
    const sources = files.filter((file) => /\.[cm]?tsx?$/.test(file) && !file.endsWith(".d.ts"));
    expect(sources).toEqual([]);
    expect(files.filter((file) => /node_modules\/(esbuild|@esbuild|typescript|vitest)\//.test(file))).toEqual([]);
  });

  test("plays an episode, and its health check agrees", async () => {
    await using server = await dockerProvider({ pull: "never" }).start({ image: tag });
    await using env = await connect(server.url);
    await env.reset();
    expect((await env.step({ message: "Hello" })).observation).toMatchObject({ echoed_message: "Hello" });
    const id = await docker("ps", "--quiet", "--filter", `ancestor=${tag}`);
    const [kind, ...command] = (await inspectImage(tag)).Config.Healthcheck?.Test ?? [];
    expect(kind).toBe("CMD");
    await docker("exec", id, ...command);
    expect((await inspectImage(tag)).Config.Healthcheck).toMatchObject({ Interval: 5e9, Retries: 12 });
    await expect(docker("exec", "--env", "PORT=1", id, ...command)).rejects.toThrow();
  });

  test("is the one of plain docker build", async () => {
    const args = ["--build-arg", `BUILD_BASE=${npm}`, "--build-arg", `BASE=${BASE}`];
    await docker("build", "-q", "-f", join(dir, "server/Dockerfile"), "-t", `${tag}-plain`, ...args, dir);
    expect((await inspectImage(`${tag}-plain`)).RootFS).toEqual((await inspectImage(tag)).RootFS);
  });

  test("runs one worker if the environment does not declare that its sessions share nothing", async () => {
    const file = join(dir, "server/environment.ts");
    const declared = await readFile(file, "utf8");
    await writeFile(file, declared.replace(', sharesState: "no"', ""));
    const undeclared = await build();
    expect(undeclared.stderr).toMatch(/one worker, because the environment does not declare sharesState: "no"/);
    expect((await inspectImage(tag)).Config.Env).toContain("WORKERS=1");
    expect(await build("--build-arg", "WORKERS=3")).toMatchObject({ code: 0, stderr: "" });
    expect((await inspectImage(tag)).Config.Env).toContain("WORKERS=3");
    await writeFile(file, declared);
    expect(await build()).toMatchObject({ code: 0, stderr: "" });
    expect((await inspectImage(tag)).Config.Env).toContain("WORKERS=4");
  });

  test("takes its packages from the cache when only the code has changed", async () => {
    const before = (await inspectImage(tag)).RootFS.Layers;
    const file = join(dir, "server/environment.ts");
    await writeFile(file, (await readFile(file, "utf8")).replace("environment ready", "environment READY"));
    const built = await build();
    expect(built).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Built .* MB\)\. It answers a reset/) });
    commands = built.stdout.split("\n").flatMap((line) => (line.startsWith("  docker run ") ? [line.trim()] : []));
    const after = (await inspectImage(tag)).RootFS.Layers;
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
    expect(after.at(-1)).not.toBe(before.at(-1));
  });

  describe("as build prints its start", () => {
    /** Starts it with more options; resolves with the id of the container. */
    async function start(command: string | undefined, ...options: string[]): Promise<AsyncDisposable & { id: string }> {
      const [, ...given] = command?.split(" ") ?? [];
      const args = given.flatMap((word) => (word === "--rm" ? ["--detach", ...options] : [word]));
      const id = await docker(...args.map((word) => word.replace(":8000:", "::").replace(/^PORT=.*/, `PORT=${port}`)));
      return { id, [Symbol.asyncDispose]: async () => void (await docker("rm", "--force", "--volumes", id)) };
    }
    const play = async (url: string) => {
      await vi.waitUntil(() => isServed(url), { timeout: 60_000, interval: 200 });
      const socket = await openTestSocket(`${url}/ws`);
      expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });
      return socket;
    };
    const addressOf = async (id: string) => `http://${await docker("port", id, "8000/tcp")}`;
    let port: number;
    beforeAll(async () => {
      port = await findFreePort();
    });

    test("closes its sockets before docker stop would kill it, also when it may write nothing", async () => {
      await using container = await start(commands[0], "--read-only");
      const url = await addressOf(container.id);
      const sockets = [await play(url), await play(url)];
      expect(JSON.parse(await docker("inspect", container.id))[0].HostConfig.ReadonlyRootfs).toBe(true);
      await docker("stop", "-t", "30", container.id);
      expect((await Promise.all(sockets.map(({ closed }) => closed))).map(({ code }) => code)).toEqual([1012, 1012]);
      expect(await docker("inspect", "--format", "{{.State.ExitCode}}", container.id)).toBe("0");
    });

    test.each([" --init", ""])("reaps the processes that an environment leaves behind: docker run%s", async (init) => {
      await using container = await start(commands[0]?.replace(" --init", init));
      await leaveBehind("docker", container.id);
    });

    test("serves on the machine's own network to 127.0.0.1 only", async () => {
      await using container = await start(commands.at(-1));
      const socket = await play(`http://127.0.0.1:${port}`);
      expect(await docker("port", container.id)).toBe("");
      const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
      const outside = others.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
      expect(await isServed(`http://${outside}:${port}`)).toBe(false);
      socket.ws.close();
    });
  });

  test("is built from what push publishes, also with another base", async () => {
    await using space = await stageSpace({ dir, manifest: await readManifest(dir), base: BASE });
    await docker("build", "-q", "-t", `${tag}-space`, "--build-arg", `BUILD_BASE=${npm}`, space.dir);
    expect((await inspectImage(`${tag}-space`)).Config.Env).toContain("ENABLE_WEB_INTERFACE=true");
    await using server = await dockerProvider({ pull: "never" }).start({ image: `${tag}-space` });
    await using env = await connect(server.url);
    await env.reset();
  });
});

async function readLog(id: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)("docker", ["logs", id]);
  return stdout + stderr;
}

async function isServed(url: string): Promise<boolean> {
  return await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

describe.skipIf(!engine.available)("a build that fails", TIME_LIMIT, () => {
  const cases: [string, string, RegExp][] = [
    ["a step fails", "RUN echo told && exit 3", /docker build failed:[\s\S]*told/],
    ["the base image is missing", "FROM openenv-test-nowhere/none:1", /base image .* cannot be pulled/],
    ["its base has no npm", "RUN npm --version", /has no npm; .*BUILD_BASE[\s\S]*npm: not found/],
    ["the image ends at once", 'CMD ["node", "-e", "console.log(`told`); process.exit(4)"]', /exited[\s\S]*told/],
  ];
  test.each(cases)("is one clear error and leaves no container: %s", async (_case, line, text) => {
    await using project = await createPublishable({ "server/Dockerfile": `FROM ${BASE}\n${line}\n` });
    const tag = `openenv-test-broken:${process.pid}`;
    const { code, stdout, stderr } = await runCommand(["build", "-t", tag], { cwd: project.dir });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toMatch(text);
    expect(await docker("ps", "--all", "--quiet", "--filter", `ancestor=${tag}`)).toBe("");
    await docker("rmi", "--force", tag).catch(() => {});
  });

  test("-f, --build-arg and --no-cache reach docker, also when the image then does not start", async () => {
    const dockerfile = `FROM ${BASE}\nARG MARK=none\nRUN echo $MARK > /mark; cat /dev/urandom | head -c 8 > /random\n`;
    await using project = await createPublishable({ "other/Dockerfile": `${dockerfile}CMD ["node", "-e", "0"]\n` });
    const tag = `openenv-test-options:${process.pid}`;
    const args = ["build", "-t", tag, "-f", "other/Dockerfile", "--build-arg", "MARK=given"];
    const layersOf = async (...more: string[]) => {
      const { code, stderr } = await runCommand([...args, ...more], { cwd: project.dir });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`error: ${tag} is built, but does not start: `)]);
      return (await inspectImage(tag)).RootFS.Layers;
    };
    const first = await layersOf();
    expect(await docker("run", "--rm", tag, "cat", "/mark")).toBe("given");
    expect(await layersOf()).toEqual(first);
    expect(await layersOf("--no-cache")).not.toEqual(first);
    await docker("rmi", "--force", tag);
  });

  test("Ctrl-C ends the build and what it was running", async () => {
    const mark = `openenv-test-sleep-${process.pid}`;
    const dockerfile = `FROM ${BASE}\nRUN sleep 600 && echo ${mark}\n`;
    await using project = await createPublishable({ "server/Dockerfile": dockerfile });
    await using running = startCommand(["build"], { cwd: project.dir });
    const containers = async () => (await docker("ps", "--no-trunc", "--format", "{{.Command}}")).includes(mark);
    await vi.waitUntil(containers, { timeout: 60_000, interval: 200 });
    running.process.kill("SIGINT");
    expect(await running.exited).toBe(1);
    expect(running.stderr).toBe("error: interrupted by SIGINT\n");
    await vi.waitUntil(async () => !(await containers()), { timeout: 60_000, interval: 200 });
  });
});

test.skipIf(!engine.available)("no engine is one clear error", async () => {
  await using project = await createPublishable();
  const env = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
  const done = await runCommand(["build"], { cwd: project.dir, env });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toMatch(/^error: [^\n]*Cannot connect to a Docker engine[^\n]*\n$/);
});
