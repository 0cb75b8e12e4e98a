import { readFile, rm, writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { checker } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { rewriteStrings, sampleActions, unique, variants } from "./agents.js";
import { type Case, reset, type World } from "./world.js";

/** A line of a file that is long enough to be found nowhere else. */
const MARK_LENGTH = 20;
const SAMPLES = 8;

/** Plays actions that ask for files which no agent may read: the oracle, the canaries, the script of the verifier. */
export function oracleContainment(world: World, dir: string, files: readonly string[]): checker.CheckDefinition {
  return {
    id: "oracle_containment",
    description: "no action returns the content of the oracle, the canaries or the verifier, or changes them",
    remedy: "Limit the paths that actions can reach, and leave these files out of the image.",
    run: async (note) => {
      if (files.length === 0)
        throw new checker.NotApplicable("the package declares no oracle, canaries or verifier script");
      // A declared file that does not exist is reported by the check that needs it.
      const read = (file: string): Promise<Buffer | undefined> => readFile(file).catch(() => undefined);
      let tried = 0;
      for (const file of files) {
        const before = await read(file);
        const lines = String(before ?? "").split("\n");
        const long = lines.map((line) => line.trim()).filter((line) => line.length >= MARK_LENGTH);
        for (const action of probes(world, dir, file)) {
          tried++;
          let isSame = true;
          const text = await answer(world, action).finally(async () => {
            const after = await read(file);
            isSame = String(after) === String(before);
            if (!isSame) await (before === undefined ? rm(file) : writeFile(file, before));
          });
          checker.demand(isSame, `the action ${checker.show(action)} changed ${relative(dir, file)}`);
          const found = long.find((mark) => text.includes(JSON.stringify(mark).slice(1, -1)));
          const what = `the action ${checker.show(action)} returned a line of ${relative(dir, file)}`;
          checker.demand(found === undefined, `${what}: ${checker.show(found)}`);
        }
      }
      note({ actual: { actions: tried } });
    },
  };
}

async function answer(world: World, action: JsonObject): Promise<string> {
  const session = await world.session(world.url);
  await reset(world, world.cases[0] as Case, session);
  return (await session.ask("step", action)).text;
}

/** Actions whose strings are the path of the file, or code that reads it or adds a line to it. */
function probes({ offered, accepts }: World, dir: string, file: string): JsonObject[] {
  const path = JSON.stringify(file);
  const payloads = [
    file,
    relative(dir, file),
    pathToFileURL(file).href,
    `cat ${path}`,
    `print(open(${path}).read())`,
    `console.log(require("fs").readFileSync(${path}, "utf8"))`,
    `echo >> ${path}`,
    `open(${path}, "a").write("\\n")`,
    `require("fs").appendFileSync(${path}, "\\n")`,
  ];
  const samples = [...variants(offered), ...sampleActions(offered, SAMPLES)];
  return unique(samples.flatMap((sample) => payloads.map((payload) => rewriteStrings(sample, payload, accepts))));
}
