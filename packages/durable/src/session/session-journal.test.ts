import { expect, test } from "vitest";
import { loadBinary } from "#core/protocol/codec/binary.js";
import { WITHHELD } from "#core/session/registry/session-keeper.js";
import { TAKEN_OVER } from "../journals/journal.js";
import { MemoryStore, openMemoryJournal } from "../journals/memory.js";
import { policyOf } from "./resume-policy.js";
import { SessionJournal } from "./session-journal.js";

test("an answer is withheld when another process has the session", async () => {
  const store = new MemoryStore();
  const journal = openMemoryJournal("here", store);
  const epoch = await journal.create("s", "hash");
  const lost: string[] = [];
  const policy = policyOf({ id: "s", tokenHash: "hash" });
  const onLost = (reason: string): void => void lost.push(reason);
  const parts = { journal, policy, codec: await loadBinary(), onLost, suspects: { running: undefined } };
  const own = new SessionJournal("s", epoch, parts);
  const answered = { seq: 1, request: "request", answer: "answer" };
  expect(await own.store(answered, 0)).toBeUndefined();
  Object.assign(store.sessions.get("s") as object, { epoch: epoch + 1 });
  expect(await own.store({ ...answered, seq: 2 }, 1)).toBe(WITHHELD);
  expect(lost).toEqual([TAKEN_OVER]);
});
