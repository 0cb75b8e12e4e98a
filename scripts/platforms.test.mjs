import { expect, test } from "vitest";
import { findUnverified } from "./platforms.mjs";

const integrity = `sha512-${"a".repeat(86)}==`;
const packages = {
  "": { name: "workspace" },
  openenv: { version: "1.0.0" },
  "node_modules/openenv-ts": { resolved: "openenv", link: true },
  "node_modules/good": { version: "1.0.0", integrity },
  "node_modules/good/node_modules/bundled": { version: "1.0.0", inBundle: true },
  "node_modules/none": { version: "1.0.0", optional: true },
  "node_modules/weak": { version: "1.0.0", integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" },
  "node_modules/@scope/binary": { version: "1.0.0", os: ["darwin"] },
};

test("only registry packages without a strong hash are found", () => {
  expect(findUnverified({ packages })).toEqual([
    "node_modules/none",
    "node_modules/weak",
    "node_modules/@scope/binary",
  ]);
});
