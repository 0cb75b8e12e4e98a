import { beforeEach, describe, expect, test } from "vitest";
import { areSiblings, hasEnded, ownerName } from "#core/server/sqlite/owner.js";
import { startOwner, testJournal } from "../../test/journal-contract.js";
import { MemoryStore, openMemoryJournal } from "./memory.js";

describe("a journal in memory", () => {
  let store = new MemoryStore();
  beforeEach(() => {
    store = new MemoryStore();
  });
  testJournal(
    async (owner) => openMemoryJournal(owner, store),
    (journal) => journal.close(),
  );
});

test("an owner is a process: its id alone does not name it", async () => {
  const owner = startOwner();
  expect(hasEnded(owner.name)).toBe(false);
  const [pid] = owner.name.split(".");
  expect(hasEnded(owner.name.replace(/^\d+\.\d*/, `${pid}.1`))).toBe(true);
  expect(hasEnded("1.1/1.1/another-machine")).toBeUndefined();
  await owner.kill();
  expect(hasEnded(owner.name)).toBe(true);
  expect(hasEnded(ownerName("w12-"))).toBe(false);
  expect(areSiblings(ownerName("w1-"), ownerName("w2-"))).toBe(true);
  expect(areSiblings(ownerName("w1-"), "w2-1.1/1.1/another-machine")).toBe(false);
});
