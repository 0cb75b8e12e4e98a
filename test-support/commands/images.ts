/** Images for tests, built once for each test file, from `node:20-slim` and one bundled file. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";

const run = promisify(execFile);
const SOURCES = join(import.meta.dirname, "../../packages/openenv");

/** The programs of test images; they can import `openenv-ts`. */
export const SERVERS = {
  /** A counter that listens on PORT. It prints `HELLO` at its start, and each observation contains it. */
  counter: `
    import { defineContract, defineEnvironment } from "openenv-ts";
    import { serve } from "openenv-ts/server";
    import * as z from "zod";
    const counter = defineContract({
      name: "counter_env",
      action: z.object({ amount: z.int() }),
      observation: z.object({ count: z.int(), hello: z.string() }),
    });
    const hello = process.env.HELLO ?? "";
    const environment = defineEnvironment(counter, () => {
      let count = 0;
      return {
        reset: () => ({ observation: { count: (count = 0), hello } }),
        step: ({ amount }) => ({ observation: { count: (count += amount), hello }, reward: amount, done: false }),
      };
    });
    console.log("hello " + hello);
    await serve(environment, { host: "0.0.0.0", handleSignals: true });
  `,
  /** Answers only GET /health. */
  healthOnly: `
    import { createServer } from "node:http";
    process.once("SIGTERM", () => process.exit(0));
    console.log("healthy, and that is all");
    createServer((request, response) => {
      response.statusCode = request.url === "/health" ? 200 : 404;
      response.end('{"status":"healthy"}');
    }).listen(Number(process.env.PORT ?? 8000), "0.0.0.0");
  `,
  /** Runs, but does not listen. */
  deaf: `
    process.once("SIGTERM", () => process.exit(0));
    console.log("deaf");
    setInterval(() => {}, 1000);
  `,
  /** Exits at once. */
  ends: `
    console.error("nothing to do here");
    process.exitCode = 3;
  `,
} as const;

export interface TestImage extends AsyncDisposable {
  readonly name: string;
}

/** `lines` are added to the Dockerfile before the command. */
export async function buildImage(docker: string, source: string, lines: readonly string[] = []): Promise<TestImage> {
  const context = await mkdtemp(join(tmpdir(), "openenv-image-"));
  const name = `openenv-test-${randomBytes(6).toString("hex")}`;
  try {
    await writeBundle(source, join(context, "server.mjs"));
    const dockerfile = [
      "FROM node:20-slim",
      "COPY server.mjs /app/server.mjs",
      ...lines,
      'CMD ["node", "/app/server.mjs"]',
    ];
    await writeFile(join(context, "Dockerfile"), `${dockerfile.join("\n")}\n`);
    await run(docker, ["build", "--quiet", "--tag", name, context]);
  } finally {
    await rm(context, { recursive: true });
  }
  return {
    name,
    [Symbol.asyncDispose]: async () => {
      await run(docker, ["image", "rm", "--force", name]);
    },
  };
}

/** Bundles a file with all its imports. */
export async function writeBundle(source: string, outfile: string): Promise<void> {
  await build({
    stdin: { contents: source, resolveDir: SOURCES, loader: "ts" },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    // CommonJS packages require builtins.
    banner: { js: 'import { createRequire as of } from "node:module"; const require = of("/");' },
  });
}

/** The ids of the containers with this label, running or not. */
export async function listContainers(docker: string, label: string): Promise<string[]> {
  const { stdout } = await run(docker, ["ps", "--all", "--quiet", "--filter", `label=${label}`]);
  return stdout.split("\n").filter(Boolean);
}
