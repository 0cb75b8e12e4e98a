/**
 * `npm run docs` writes the generated pages of docs/; with `--check` it only compares them. `npm run docs -- site` builds
 * the documentation as a site.
 */
import { setup } from "./setup.mjs";

if (process.argv[2] === "site") {
  await import("../docs/site/build.mjs");
} else {
  await setup();
  await import("./docs/reference.mjs");
}
