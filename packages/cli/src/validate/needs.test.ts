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
  ["semantic.no_solution_leakage", "    oracle: { form: script, location: oracle.sh }", /declare .*\.oracle`/],
  ["semantic.canary_floor", "    canaries: canaries.jsonl", /declare .*\.canaries`/],
])("%s needs a declaration, and with it is only skipped when it is excluded", (id, capabilities, reason) => {
  expect(need(id)).toEqual({ declared: false, reason: expect.stringMatching(reason) });
  expect(need(id, capabilities)).toEqual({ declared: true, reason: "the check was excluded" });
});

test("rubrics have the reason that declaring them is not enough, declared or not", () => {
  const reason = expect.stringMatching(/\.rubric_tree` is not enough/);
  const id = "runtime.rubric_introspectable";
  expect(need(id)).toEqual({ declared: false, reason });
  expect(need(id, "    rubric_tree: true")).toEqual({ declared: true, reason });
});

test.each([
  "runtime.network_policy",
  "runtime.host_containment",
  "runtime.resource_bounds",
  "semantic.verifier_portability",
  "semantic.resource_envelope",
])("%s needs a container, and with one is only skipped when it is excluded", (id) => {
  expect(need(id)).toEqual({ declared: false, reason: expect.stringMatching(/`validation.execution`.*Docker engine/) });
  expect(need(id, "", "  execution: {}\n")).toEqual({ declared: true, reason: "the check was excluded" });
});

test("a check of a running server needs nothing else", () => {
  expect(need("runtime.capacity")).toBeUndefined();
});
