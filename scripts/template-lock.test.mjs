import { expect, test } from "vitest";
import { renderAddition, renderTemplateLock } from "./template-lock.mjs";

const manifest = {
  name: "game",
  version: "0.1.0",
  dependencies: { "openenv-ts": "1" },
  devDependencies: { tester: "1" },
};
const lock = {
  packages: {
    "": { name: "workspace" },
    "node_modules/openenv-ts": { resolved: "openenv", link: true },
    openenv: {
      name: "openenv-ts",
      version: "1",
      dependencies: { deep: "1", shared: "1" },
      devDependencies: { unneeded: "1" },
      peerDependencies: { heavy: "1" },
      peerDependenciesMeta: { heavy: { optional: true } },
    },
    "openenv/node_modules/deep": { version: "2", optionalDependencies: { "deep-linux": "2" } },
    "node_modules/deep": { version: "1" },
    "node_modules/deep-linux": { version: "2", os: ["linux"], dev: true, optional: true },
    "node_modules/shared": { version: "1", dev: true },
    "node_modules/tester": { version: "1", dev: true, dependencies: { shared: "1", runner: "1" } },
    "node_modules/tester/node_modules/runner": { version: "3", dev: true, dependencies: { shared: "1" } },
    "node_modules/unneeded": { version: "1", dev: true },
    "node_modules/heavy": { version: "1" },
  },
};

test("the lock file of the template has exactly the dependencies, at the paths where Node finds them", () => {
  const { packages, ...head } = JSON.parse(renderTemplateLock(lock, manifest));
  expect(head).toEqual({ name: "game", version: "0.1.0", lockfileVersion: 3, requires: true });
  expect(packages).toEqual({
    "": manifest,
    "node_modules/deep-linux": { version: "2", os: ["linux"], optional: true },
    "node_modules/openenv-ts": {
      version: "1",
      dependencies: { deep: "1", shared: "1" },
      peerDependencies: { heavy: "1" },
      peerDependenciesMeta: { heavy: { optional: true } },
    },
    "node_modules/openenv-ts/node_modules/deep": { version: "2", optionalDependencies: { "deep-linux": "2" } },
    "node_modules/shared": { version: "1" },
    "node_modules/tester": { version: "1", dev: true, dependencies: { shared: "1", runner: "1" } },
    "node_modules/tester/node_modules/runner": { version: "3", dev: true, dependencies: { shared: "1" } },
  });
});

test("a template that adds dependencies has the rows that these add or change", () => {
  const addition = { dependencies: { heavy: "1", tester: "1" } };
  const { packages, ...head } = JSON.parse(renderAddition(lock, manifest, addition));
  expect(head).toEqual({});
  expect(packages).toEqual({
    "": { ...manifest, dependencies: { heavy: "1", "openenv-ts": "1", tester: "1" } },
    "node_modules/heavy": { version: "1" },
    "node_modules/tester": { version: "1", dependencies: { shared: "1", runner: "1" } },
    "node_modules/tester/node_modules/runner": { version: "3", dependencies: { shared: "1" } },
  });
});
