import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { findRuntimes, JOURNAL_MODULE, OWNER_MODULE } from "../../../../../test-support/journals/file-journal.js";

const KILLED = (await findRuntimes()).flatMap((one) =>
  ["process", "disk"].map((durability) => ({ ...one, durability })),
);

test.for(KILLED)(
  "a kill in the middle of a write loses nothing that was acknowledged: $runtime, $durability",
  { timeout: 120_000 },
  async ({ command, isThere, durability }, { skip }) => {
    skip(!isThere, "the runtime is missing");
    await using project = await createProject({
      "write.mjs": `
      import { openSqliteJournal } from ${JSON.stringify(JOURNAL_MODULE)};
      import { writeSync } from "node:fs";
      import { ownerName } from ${JSON.stringify(OWNER_MODULE)};
      const journal = await openSqliteJournal({ path: "s.db", durability: ${JSON.stringify(durability)}, owner: ownerName(""), isFirst: true });
      let record = await journal.takeOver("s");
      if (record === undefined) { await journal.create("s", "hash"); record = { epoch: 1, cells: new Map() }; }
      const cells = [...record.cells].map(([name, value]) => [name, Buffer.from(value)]);
      const numbers = cells.filter(([name]) => name.startsWith("a")).map(([name]) => Number(name.slice(1)));
      const last = Math.max(0, ...numbers);
      // Both cells of a commit, or none; the state is that of the last one; the values are whole.
      const isWhole = numbers.length === Math.min(last, 20)
        && (last === 0 || String(record.cells.get("image") && Buffer.from(record.cells.get("image")).subarray(0, 9)) === String(last).padStart(9, "0"))
        && cells.every(([name, value]) => !name.startsWith("a") || (value.length === 5000 && value.every((byte) => byte === Number(name.slice(1)) % 256)));
      writeSync(1, "found " + last + " " + isWhole + "\\n");
      for (let i = last + 1; ; i++) {
        const image = Buffer.concat([Buffer.from(String(i).padStart(9, "0")), Buffer.alloc((i * 7919) % 60_000)]);
        const put = [["a" + i, Buffer.alloc(5000, i % 256)], ["image", image]];
        await journal.commit("s", record.epoch, { put, remove: ["a" + (i - 20)] });
        writeSync(1, "done " + i + "\\n");
      }
    `,
    });
    const [program = "", ...args] = command;
    let acknowledged = 0;
    // On a slow machine many rounds end before their first commit, so later ones take longer.
    for (let rounds = 0; rounds < 20 || acknowledged <= 20; rounds++) {
      const child = spawn(program, [...args, "write.mjs"], { cwd: project.dir, stdio: ["ignore", "pipe", "inherit"] });
      const lines = text(child.stdout);
      const ended = once(child, "close");
      await once(child.stdout, "data");
      setTimeout(() => child.kill("SIGKILL"), (5 + Math.random() * 60) * Math.max(1, rounds / 10 - 1));
      await ended;
      // The first "data" event was read above too: "text" has the whole output.
      const output = await lines;
      const [, found, isWhole] = /found (\d+) (\w+)/.exec(output) ?? [];
      expect(isWhole).toBe("true");
      // At most the commit in flight is there without its acknowledgement.
      expect([acknowledged, acknowledged + 1]).toContain(Number(found));
      acknowledged = Number([...output.matchAll(/done (\d+)\n/g)].at(-1)?.[1] ?? found);
    }
  },
);
