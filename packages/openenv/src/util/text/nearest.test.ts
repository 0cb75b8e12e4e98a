import { expect, test } from "vitest";
import { findNearest } from "./nearest.js";

const KEYS = ["nodes", "workers", "maxNodes", "memoryMb", "cpus"];

test.each([
  ["node", "nodes"],
  ["nodez", "nodes"],
  ["NODES", "nodes"],
  ["maxnodes", "maxNodes"],
  ["memory_mb", "memoryMb"],
  ["cpu", "cpus"],
])("%s was meant to be %s", (word, meant) => {
  expect(findNearest(word, KEYS)).toBe(meant);
});

test.each(["", "x", "up", "replicas"])("nothing is near %j", (word) => {
  expect(findNearest(word, KEYS)).toBeUndefined();
});
