/** `npm run bench`: set-up, then experiments/main.mjs; see there for the options. */
import { setup } from "./setup.mjs";

await setup();
await import("../experiments/main.mjs");
