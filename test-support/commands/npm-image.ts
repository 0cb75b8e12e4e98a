import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const NPM_IMAGE = "openenv-test-npm:local";

/** Runs the docker command; its standard output. */
export async function docker(...args: string[]): Promise<string> {
  return (await promisify(execFile)("docker", args, { maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
}

/** What `docker image inspect` says, of an image that is there. */
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

/** The base image with this machine's npm, as images of Node have it; it stays for other tests. */
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
