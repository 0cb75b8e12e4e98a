import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ConfigError } from "#core/errors.js";
import { chooseFolder, removeLeftFolders } from "./socket-folder.js";

/** Not even root can create a folder in a file. */
const [FILE, OTHER] = [import.meta.filename, join(import.meta.dirname, "supervisor.ts")];

test("the folder of the workers' sockets is chosen in the first writable place, and not created yet", () => {
  const folder = chooseFolder([FILE, tmpdir()]);
  expect([dirname(folder), existsSync(folder)]).toEqual([tmpdir(), false]);
  expect(chooseFolder([FILE, tmpdir()])).not.toBe(folder);
});

test("if no place is writable, the error names them, the reason and what to do", () => {
  expect(() => chooseFolder([FILE, OTHER])).toThrow(ConfigError);
  const words = `neither ${FILE} nor ${OTHER} is writable (ENOTDIR`;
  expect(() => chooseFolder([FILE, OTHER])).toThrow(words);
  expect(() => chooseFolder([FILE, OTHER])).toThrow(
    /set TMPDIR to a writable folder, in a container use --tmpfs \/tmp\.$/,
  );
});

test("the folder of a server that was killed is removed, and no other one", async () => {
  const place = mkdtempSync(join(tmpdir(), "left-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const make = (name: string): string => {
    mkdirSync(join(place, name));
    return join(place, name);
  };
  const [left, used, starting, foreign] = ["a".repeat(12), "b".repeat(12), "c".repeat(12), "another"].map((name) =>
    make(`openenv-${name}`),
  ) as [string, string, string, string];
  const listen = `require("net").createServer().listen(process.argv[1], () => console.log("listens"))`;
  for (const folder of [left, foreign]) {
    const child = spawn(process.execPath, ["-e", listen, join(folder, "w1.sock")]);
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const server = createServer().listen(join(used, "w1.sock"));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  await removeLeftFolders([place]);
  expect([left, used, starting, foreign].map(existsSync)).toEqual([false, true, true, true]);
});
