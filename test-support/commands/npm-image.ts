import { execFile } from "node:child_process";
import { chmod, cp, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const NPM_IMAGE = "openenv-test-npm:local";

/** Runs the docker command; returns its standard output. */
export async function docker(...args: string[]): Promise<string> {
  return (await promisify(execFile)("docker", args, { maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
}

/** Returns the output of `docker image inspect` for an existing image. */
export async function inspectImage(image: string) {
  const [found] = JSON.parse(await docker("image", "inspect", image)) as {
    Id: string;
    Size: number;
    Config: {
      User: string;
      Env: string[];
      Labels: Record<string, string> | null;
      ExposedPorts?: Record<string, object>;
      Healthcheck?: { Test: string[] };
    };
    RootFS: { Layers: string[] };
  }[];
  if (!found) throw new Error(`no image ${image}`);
  return found;
}

/** Adds this machine's npm to the base image, as in images of Node; the image is kept for other tests. */
export async function createNpmImage(base: string): Promise<string> {
  const { stdout } = await promisify(execFile)("npm", ["root", "--global"]);
  const dir = await mkdtemp(join(tmpdir(), "npm-image-"));
  try {
    await cp(join(stdout.trim(), "npm"), join(dir, "npm"), { recursive: true });
    const place = "/usr/local/lib/node_modules/npm";
    await writeFile(
      join(dir, "Dockerfile"),
      [
        `FROM ${base}`,
        `COPY npm ${place}`,
        `RUN ln -s ${place}/bin/npm-cli.js /usr/local/bin/npm && ln -s ${place}/bin/npx-cli.js /usr/local/bin/npx`,
        "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
      ].join("\n"),
    );
    await docker("build", "--quiet", "--tag", NPM_IMAGE, dir);
    return NPM_IMAGE;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Adds this Bun to a base image, in place of `oven/bun`. */
export async function createBunImage(base: string, bun: string): Promise<string> {
  const image = `openenv-test-bun-base:${process.pid}`;
  const dir = await mkdtemp(join(tmpdir(), "bun-image-"));
  try {
    await cp(await realpath(bun), join(dir, "bun"));
    await chmod(join(dir, "bun"), 0o755);
    await writeFile(join(dir, "Dockerfile"), `FROM ${base}\nCOPY bun /usr/local/bin/bun\n`);
    await docker("build", "--quiet", "--tag", image, dir);
    return image;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
