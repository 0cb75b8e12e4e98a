/** The real library against a Hub of the tests' own: the public one cannot be asked to keep what tests publish. */
import { execFile } from "node:child_process";
import { appendFile, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { createPublishable } from "../../../../test-support/commands/publishable.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";
import { requirePython } from "../../../../test-support/requirement.js";

const URLS = (hub: Hub, id: string, app: string) => ({
  page: `${hub.url}/spaces/${id}`,
  web: `https://${app}.hf.space/web`,
  docs: `https://${app}.hf.space/docs`,
  health: `https://${app}.hf.space/health`,
});

/** Each push validates, which starts servers. */
vi.setConfig({ testTimeout: 180_000 });
const python = await requirePython();
const BIN = join(import.meta.dirname, "../../bin/openenv.js");
/** Runs a command on a terminal of its own, types a line when it asks for something, and prints what it shows. */
const TERMINAL = `
import fcntl, os, pty, struct, sys, termios
line, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    os.execv(command[0], command)
shown, typed = b"", False
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
    if b"Token" in shown and not typed:
        typed = True
        os.write(terminal, line.encode() + b"\\r")
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
const WAIT = { timeout: 120_000 };

interface PushOptions {
  files?: Record<string, string>;
  env?: Record<string, string>;
  /** Done in the folder before the push. */
  prepare?: (dir: string) => Promise<void>;
}

async function push(hub: Hub, args: string[] = [], { files = {}, env = {}, prepare }: PushOptions = {}) {
  await using project = await createPublishable(files);
  await prepare?.(project.dir);
  const variables = { HF_ENDPOINT: hub.url, HF_TOKEN: hub.token, HF_HOME: join(project.dir, "nobody"), ...env };
  const done = await callCommand(["push", ...args], { cwd: project.dir, env: variables });
  expect(`${done.stdout}${done.stderr}`).not.toContain(hub.token);
  return done;
}

test("an environment becomes a Docker Space of the login, with its interface on, and its URLs are printed", async () => {
  await using hub = await startHub();
  const { code, stdout, stderr } = await push(hub);
  expect([code, stderr]).toEqual([0, ""]);
  for (const url of Object.values(URLS(hub, "author/counter_env", "author-counter-env"))) expect(stdout).toContain(url);
  const space = hub.space("author/counter_env");
  expect(space).toMatchObject({ sdk: "docker", private: false, variables: { TARGET: "10" }, secrets: {} });
  const files = (await space?.files()) ?? {};
  expect(Object.keys(files).sort()).toEqual([
    ".dockerignore",
    ".gitattributes",
    "Dockerfile",
    "README.md",
    "openenv.yaml",
    "package-lock.json",
    "package.json",
    "server/app.ts",
    "server/environment.ts",
  ]);
  expect(files["Dockerfile"]).toMatch(/^FROM \$\{BASE\}$[\s\S]*^ENV ENABLE_WEB_INTERFACE=true$/m);
  expect(files["README.md"]).toMatch(
    /^---\ntitle: Counter Env\n[\s\S]*sdk: docker\napp_port: 8000\n[\s\S]*---\n\n# Counter/,
  );
  expect(files["README.md"]).toContain("base_path: /web");
});

test("every option reaches the Hub; secrets are never shown", async () => {
  await using hub = await startHub();
  const args = [
    ...["-r", "crew/other.name", "-b", "node:22-slim", "--private", "--hardware", "t4-small"],
    ...["--secret", "KEY=top=s3cret", "--secret", "FROM_HERE", "--env", "TARGET=12", "--env", "MODE=a b", "--json"],
  ];
  const { code, stdout, stderr } = await push(hub, args, { env: { FROM_HERE: "s3cret=too" } });
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    repo_id: "crew/other.name",
    ...URLS(hub, "crew/other.name", "crew-other-name"),
    variables: { TARGET: "12", MODE: "a b" },
    secrets: ["KEY", "FROM_HERE"],
  });
  expect(stdout).not.toContain("s3cret");
  const space = hub.space("crew/other.name");
  expect(space).toMatchObject({
    private: true,
    hardware: "t4-small",
    secrets: { KEY: "top=s3cret", FROM_HERE: "s3cret=too" },
    variables: { TARGET: "12", MODE: "a b" },
  });
  const { Dockerfile = "" } = (await space?.files()) ?? {};
  expect(Dockerfile).toContain("ARG BASE=node:22-slim\n");
  expect(Dockerfile).toContain("ARG BUILD_BASE=node:24-slim\n");
});

test("--namespace chooses the owner, and the Space that is there is changed", async () => {
  await using hub = await startHub();
  const space = await hub.addSpace("crew/counter_env", { "README.md": "old" });
  const { code, stderr } = await push(hub, ["--namespace", "crew", "--private"], { files: { "more.txt": "1" } });
  expect(code).toBe(0);
  expect(stderr).toContain("already exists");
  expect(await space.files()).toMatchObject({ "README.md": expect.stringContaining("# Counter"), "more.txt": "1" });
});

test("--create-pr opens a pull request on another user's Space and changes nothing else", async () => {
  await using hub = await startHub();
  const space = await hub.addSpace("other/chess", { "README.md": "old" });
  const { code, stdout } = await push(hub, ["-r", "other/chess", "--create-pr"]);
  expect(code).toBe(0);
  expect(stdout).toContain(`${hub.url}/spaces/other/chess/discussions/1`);
  expect(space.pulls[0]?.files).toHaveProperty("Dockerfile");
  expect(await space.files()).toEqual({ "README.md": "old" });
  expect(space.variables).toEqual({});
  const refused = await push(hub, ["-r", "other/chess", "--create-pr", "--secret", "KEY=hidden"]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("pull request") });
  expect(refused.stderr).not.toContain("hidden");
});

test("--dry-run says what would be published and asks the Hub for nothing", async () => {
  await using hub = await startHub();
  const { code, stdout } = await push(hub, ["--dry-run", "--secret", "KEY=hidden"]);
  expect(code).toBe(0);
  expect(stdout).toContain("<login>/counter_env");
  expect(stdout).toContain("server/environment.ts");
  expect(stdout).toContain("secret KEY");
  expect(stdout).not.toContain("hidden");
  expect(hub.requests).toEqual([]);
});

test("--dry-run --json says it for programs; a Python client that was not written again is a warning", async () => {
  await using hub = await startHub();
  const stale = "# Generated by `openenv client python`. Do not edit: running it again overwrites changes.\n";
  const args = ["--dry-run", "--json", "--namespace", "crew"];
  const { code, stdout, stderr } = await push(hub, args, { files: { "counter_env/models.py": stale } });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ repo_id: "crew/counter_env", variables: { TARGET: "10" } });
  expect(hub.requests).toEqual([]);
  expect(stderr).toMatch(/^warning: runtime\.python_client: .*counter_env\/models\.py.* npm run client/);
});

test("the token is that of a login when HF_TOKEN is not set; without one it is said how to get one", async () => {
  await using hub = await startHub();
  const env = { HF_TOKEN: "" };
  const prepare = async (dir: string) => {
    await mkdir(join(dir, "nobody"));
    await writeFile(join(dir, "nobody/token"), `${hub.token}\n`);
  };
  expect(await push(hub, [], { env, prepare, files: { ".gitignore": "nobody\n" } })).toMatchObject({ code: 0 });
  const none = await push(hub, [], { env });
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("hf auth login") });
  const wrong = await push(hub, [], { env: { HF_TOKEN: "sk-not-one" } });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("must be hf_ followed") });
  expect(wrong.stderr).not.toContain("sk-not-one");
});

test.skipIf(!python.available)("on a terminal the token is asked for, and not shown", async () => {
  await using hub = await startHub();
  await using project = await createPublishable();
  const script = await project.write(".cache/terminal.py", TERMINAL);
  const env = { ...process.env, HF_ENDPOINT: hub.url, HF_TOKEN: "", HF_HOME: project.dir };
  const args = [script, hub.token, process.execPath, BIN, "push"];
  const { stdout } = await promisify(execFile)(python.path, args, { cwd: project.dir, env });
  expect(stdout).toContain("Token with write access");
  expect(stdout).toContain("Published the Space author/counter_env");
  expect(stdout).not.toContain(hub.token);
});

test("a read-only token cannot create a Space, and no token pushes to another user's Space", async () => {
  await using hub = await startHub();
  const readOnly = await push(hub, [], { env: { HF_TOKEN: hub.readToken } });
  expect(readOnly).toMatchObject({ code: 1, stderr: expect.stringContaining("no write access") });
  const foreign = await push(hub, ["-r", "stranger/chess"]);
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining("stranger") });
  const missing = await push(hub, ["-r", "stranger/chess", "--create-pr"]);
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the Space stranger/chess does not exist"),
  });
});

test.each<[string, string[], PushOptions, string]>([
  ["a folder that cannot be published", [], { files: { ".gitignore": "package-lock.json" } }, "package-lock.json"],
  [
    "a manifest with wrong types",
    [],
    { files: { "openenv.yaml": "name: 7\n" } },
    "openenv.yaml:1: name must be a string",
  ],
  ["no such folder", ["-d", "nowhere"], {}, "nowhere is not a folder"],
  ["a name with a path", ["-r", "../../etc/passwd"], {}, "is not a valid Space ID"],
  ["two owners", ["-r", "crew/one", "--namespace", "author"], {}, "--namespace is author"],
  ["a base that is not a valid image name", ["-b", "a b"], {}, "is not a valid image name"],
  ["a secret without a name", ["--secret", "hunter2"], {}, "--secret must be KEY=VALUE"],
  ["a secret that is not set", ["--secret", "NOT_SET"], {}, "the environment variable NOT_SET is not set; export it"],
  ["a secret without its name", ["--secret", "AKIAIOSFODNN7EXAMPLE"], {}, "--secret must be KEY=VALUE"],
])("%s is refused before the Hub is asked", async (_case, args, options, text) => {
  await using hub = await startHub();
  const { code, stdout, stderr } = await push(hub, args, options);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^error: [^\n]*\n$/);
  expect(stderr).toContain(text);
  expect(stderr).not.toMatch(/hunter2|AKIA/);
  expect(hub.requests).toEqual([]);
});

test("refuses to publish an environment that does not work, with what is wrong and the command that checks it", async () => {
  await using hub = await startHub();
  const files = { "server/environment.ts": counterModule("0.5") };
  const prepare = async (dir: string) => {
    const names = await readdir(dir);
    await mkdir(join(dir, "a game"));
    for (const name of names) await rename(join(dir, name), join(dir, "a game", name));
  };
  const { code, stdout, stderr } = await push(hub, ["-d", "a game"], { files, prepare });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(
    /^error: counter_env failed validation and was not published; run: openenv validate 'a game'\n {2}runtime\./,
  );
  expect(hub.space("author/counter_env")).toBeUndefined();
});

test("refuses a package without an oracle where openenv.yaml requires the semantic level", async () => {
  await using hub = await startHub();
  const prepare = (dir: string) => appendFile(join(dir, "openenv.yaml"), "publish: { level: semantic }\n");
  const { code, stdout, stderr } = await push(hub, [], { prepare });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("was not published; run: openenv validate --level semantic .\n");
  expect(stderr).toMatch(/^ {2}unknown: semantic\.oracle_max, .+\. To fix: declare/m);
  expect(hub.space("author/counter_env")).toBeUndefined();
});

test("an upload that breaks off says so, and the same command done again succeeds; nothing is left of either, nor when one is interrupted", async () => {
  await using hub = await startHub();
  await using project = await createPublishable();
  const options = { cwd: project.dir, env: { HF_ENDPOINT: hub.url, HF_TOKEN: hub.token, TMPDIR: project.dir } };
  const left = async () => (await readdir(project.dir)).filter((name) => name.startsWith("openenv-push-"));
  hub.fail(/^POST .*\/commit\//, "drop", 1);
  const stderr = expect.stringMatching(/^error: .*failed.*run the command again.*\n$/);
  expect(await runCommand(["push"], options)).toMatchObject({ code: 1, stderr });
  expect(await hub.space("author/counter_env")?.files()).not.toHaveProperty("Dockerfile");
  expect(await left()).toEqual([]);
  expect(await runCommand(["push"], options)).toMatchObject({ code: 0 });
  expect(await hub.space("author/counter_env")?.files()).toHaveProperty("Dockerfile");
  expect(await left()).toEqual([]);
  hub.fail(/preupload/, "hang");
  const before = hub.requests.length;
  await using running = startCommand(["push"], options);
  await vi.waitUntil(() => hub.requests.slice(before).some(({ path }) => path.includes("preupload")), WAIT);
  expect(await left()).toHaveLength(1);
  running.process.kill("SIGINT");
  expect(await running.exited).toBe(1);
  expect(running.stderr).toBe("error: interrupted by SIGINT\n");
  expect(await left()).toEqual([]);
});
