/** `npm run bench -- <name> [options]`: set-up, then benchmarks/<name>/main.mjs, which has the options. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

const FOLDER = join(ROOT, "benchmarks");
const names = readdirSync(FOLDER).filter((name) => existsSync(join(FOLDER, name, "main.mjs")));
const [name] = process.argv.splice(2, 1);

if (names.includes(name)) {
  await setup();
  await import(`../benchmarks/${name}/main.mjs`);
} else {
  const problem = name === undefined ? "No benchmark was named" : `There is no benchmark "${name}"`;
  process.stderr.write(`${problem}. Use: npm run bench -- ${names.join("|")}\n`);
  process.exitCode = 2;
}
