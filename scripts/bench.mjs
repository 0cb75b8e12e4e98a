/** `node scripts/bench.mjs <name> [options]`: set-up, then experiments/<name>/main.mjs, which has the options. */
import { setup } from "./setup.mjs";

const [name] = process.argv.splice(2, 1);
await setup();
await import(`../experiments/${name}/main.mjs`);
