import { expect, test } from "vitest";
import { MANIFEST } from "../../../../test-support/environments/counter-package.js";
import { parseManifest } from "../../../providers/src/manifest/parse-manifest.js";
import { findNeed } from "./needs.js";

function need(id: string, capabilities = "", more = "") {
  const verifier = "verifier: { kind: reward_channel }";
  const text = MANIFEST.replace(verifier, `${verifier}\n${capabilities}`) + more;
  const { validation } = parseManifest(text, "openenv.yaml");
  if (!validation) throw new Error("the manifest has the block");
  return findNeed(id, validation);
}

test.each([
  ["semantic.no_solution_leakage", "    oracle: { form: script, location: oracle.sh }", /\.oracle` is not enough/],
  ["semantic.canary_floor", "    canaries: canaries.json", /\.canaries` is not enough/],
  ["runtime.rubric_introspectable", "    rubric_tree: true", /\.rubric_tree` is not enough/],
])("%s says before and after the declaration that declaring is not enough", (id, capabilities, reason) => {
  expect(need(id)).toEqual({ declared: false, reason: expect.stringMatching(reason) });
  expect(need(id, capabilities)).toEqual({ declared: true, reason: expect.stringMatching(reason) });
});

test.each([
  "runtime.network_policy",
  "runtime.host_containment",
  "runtime.resource_bounds",
  "semantic.verifier_portability",
  "semantic.resource_envelope",
])("%s needs a container, and is only missing with one when it was left out", (id) => {
  expect(need(id)).toEqual({ declared: false, reason: expect.stringMatching(/`validation.execution`.*Docker engine/) });
  expect(need(id, "", "  execution: {}\n")).toEqual({ declared: true, reason: "it was left out" });
});

test("a check of a running server needs nothing else", () => {
  expect(need("runtime.capacity")).toBeUndefined();
});
