/** The environments of this repository are what authors copy: each has what `openenv init` makes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const TEMPLATE = join(import.meta.dirname, "../../templates/env");
const ENVS = join(import.meta.dirname, "../../../../envs");
/** A paragraph of a Dockerfile that begins with this comment is not of the template. */
const OWN_LINES = /^# The environment's own: .*\n(?:.*\\\n)*.*\n/gm;

describe.each(readdirSync(ENVS))("envs/%s", (folder) => {
  const read = (path: string, root = join(ENVS, folder)): string => readFileSync(join(root, path), "utf8");
  const template = (path: string): string => read(path, TEMPLATE);
  const { name } = parse(read("openenv.yaml")) as { name: string };
  const prefix = folder.replace(/^./, (letter) => letter.toUpperCase());

  test("builds its image with the Dockerfile of the template", () => {
    expect(read("server/Dockerfile").replaceAll(OWN_LINES, "")).toBe(template("server/Dockerfile"));
    expect(read(".dockerignore")).toBe(template(".dockerignore"));
    expect(read("server/app.ts")).toBe(template("server/app.ts").replaceAll("counter_game", name));
  });

  test("compiles as the template does", () => {
    expect(read("tsconfig.build.json")).toBe(template("tsconfig.build.json"));
    expect(read("tsconfig.json")).toBe(template("tsconfig.json"));
    const { scripts, exports, devDependencies } = JSON.parse(template("package.json")) as Record<string, object>;
    const { build, data, client } = scripts as Record<string, string>;
    expect(JSON.parse(read("package.json"))).toMatchObject({
      scripts: { build, data, client },
      exports,
      devDependencies,
    });
  });

  test("has a client in both languages, and a README with a call in each", () => {
    expect(read("client.ts")).toContain(`export const ${prefix}Env = {`);
    expect(read("pyproject.toml")).toContain(`packages = ["${name}"]`);
    expect(existsSync(join(ENVS, folder, name, "client.py"))).toBe(true);
    const readme = read("README.md");
    expect(readme).toMatch(/```ts [\s\S]*env\.step\(/);
    expect(readme).toMatch(new RegExp(`\`\`\`python [\\s\\S]*from ${name} import `));
    expect(readme).toMatch(/reward/i);
    expect(readme).toContain(`openenv build envs/${folder}`);
  });
});
