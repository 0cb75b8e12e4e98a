import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { ECHO } from "./process.mjs";

const DOCKERFILE = `FROM node:20-slim
COPY server.mjs /app/server.mjs
ENV HOST=0.0.0.0
EXPOSE 8000
CMD ["node", "/app/server.mjs"]
`;

/** Runs the docker command and returns its output. */
export async function docker(...args) {
  return (await promisify(execFile)("docker", args)).stdout.trim();
}

/** Calls `work` with the name of an image of a compiled environment, and returns its result. */
export async function withImage(work, directory = ECHO) {
  const name = await buildFrom(directory);
  try {
    return await work(name);
  } finally {
    await docker("image", "rm", "--force", name);
  }
}

/** All the code is in one file. */
async function buildFrom(directory) {
  const context = await mkdtemp(join(tmpdir(), "openenv-bench-"));
  const name = `openenv-bench-${randomBytes(4).toString("hex")}`;
  try {
    await build({
      entryPoints: [`${directory}server/app.js`],
      outfile: join(context, "server.mjs"),
      bundle: true,
      logLevel: "error",
      format: "esm",
      platform: "node",
      target: "node20",
      // CommonJS packages require built-in modules.
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("/");' },
    });
    await writeFile(join(context, "Dockerfile"), DOCKERFILE);
    await docker("build", "--quiet", "--tag", name, context);
  } finally {
    await rm(context, { recursive: true });
  }
  return name;
}
