import { readFile } from "node:fs/promises";
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
      const read = (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");
      const before = await Promise.all(files.map(read));
      let tried = 0;
      for (const [nth, file] of files.entries()) {
        const marks = (before[nth] ?? "").split("\n").map((line) => line.trim());
        const long = marks.filter((line) => line.length >= MARK_LENGTH);
        for (const action of probes(world, dir, file)) {
          tried++;
          const text = await answer(world, action);
          const found = long.find((mark) => text.includes(JSON.stringify(mark).slice(1, -1)));
          const what = `the action ${checker.show(action)} returned a line of ${relative(dir, file)}`;
          checker.demand(found === undefined, `${what}: ${checker.show(found)}`);
        }
      }
      for (const [nth, file] of files.entries()) {
        const isSame = (await read(file)) === before[nth];
        checker.demand(isSame, `an action changed ${relative(dir, file)}`);
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

/** Actions whose strings are the path of the file, or code that reads it. */
function probes({ offered, accepts }: World, dir: string, file: string): JsonObject[] {
  const path = JSON.stringify(file);
  const payloads = [
    file,
    relative(dir, file),
    pathToFileURL(file).href,
    `cat ${path}`,
    `print(open(${path}).read())`,
    `console.log(require("fs").readFileSync(${path}, "utf8"))`,
  ];
  const samples = [...variants(offered), ...sampleActions(offered, SAMPLES)];
  return unique(samples.flatMap((sample) => payloads.map((payload) => rewriteStrings(sample, payload, accepts))));
}
