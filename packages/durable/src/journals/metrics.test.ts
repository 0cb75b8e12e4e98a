import { expect, test } from "vitest";
import { Statistics } from "#core/session/statistics/statistics.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { openResumable, stepFrame } from "../../../../test-support/sockets/resumable.js";
import { JournalError } from "./journal.js";
import { measureJournal } from "./measured.js";
import { openMemoryJournal } from "./memory.js";

const servers = useServers();

const metrics = async (url: string) => (await fetchAsOperator(`${url}/metrics`)).text();

test("the commits of a journal are measured, and a server without one says nothing of it", async () => {
  const server = await servers.start({ ...WITH_OPERATOR, journal: "memory" }, defineCounter({ seeded: true }));
  const { socket } = await openResumable(servers.open, server);
  await socket.ask(stepFrame(1, 2, 1));
  const text = await metrics(server.url);
  expect(text).toMatch(/^openenv_journal_up\{worker="0"\} 1$/m);
  expect(text).toMatch(/^openenv_journal_answers_held\{worker="0"\} 0$/m);
  expect(text).toMatch(/^openenv_journal_commit_seconds_count\{worker="0"\} [1-9]\d*$/m);
  expect(text).toMatch(/^openenv_journal_restores_total\{worker="0",result="lost"\} 0$/m);
  const without = await metrics((await servers.start({ ...WITH_OPERATOR })).url);
  expect(without).not.toMatch(/^openenv_journal_(up|answers_held)\{/m);
});

test("a journal that is away is not up until a call succeeds", async () => {
  let isAway = false;
  const memory = openMemoryJournal("here");
  const statistics = new Statistics();
  const away = new JournalError("JOURNAL_UNAVAILABLE", "away");
  const journal = measureJournal(
    Object.assign(Object.create(memory), {
      find: (id: string) => (isAway ? Promise.reject(away) : memory.find(id)),
    }),
    statistics,
  );
  await journal.create("one", "hash");
  expect(statistics.journalUp).toBe(true);
  isAway = true;
  await expect(journal.find("one")).rejects.toBe(away);
  expect(statistics.journalUp).toBe(false);
  isAway = false;
  await journal.find("one");
  expect(statistics.journalUp).toBe(true);
  // An answer of a store that works.
  await expect(async () => journal.commit("one", 0, { put: [], remove: [] })).rejects.toMatchObject({
    code: "EPOCH_LOST",
  });
  expect(statistics.journalUp).toBe(true);
  expect(statistics.counts.openenv_journal_commit_seconds.counts.some((count) => count > 0)).toBe(false);
});
