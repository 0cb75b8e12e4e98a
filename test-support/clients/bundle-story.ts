import { join } from "node:path";
import { build } from "esbuild";
import type { Project } from "../commands/command-line.js";
import { STORY } from "./story.js";

/** Bundles a module that may import `./story.js`: dynamic imports become chunks, builtins of Node stay external. */
export async function bundleStory(project: Project, entry: string): Promise<Map<string, string>> {
  await project.write("story.js", STORY);
  const out = join(project.dir, "out");
  const { outputFiles } = await build({
    entryPoints: [await project.write("entry.js", entry)],
    outdir: out,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [path.slice(out.length + 1), text]));
}
