import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import { chooseFolder } from "./socket-folder.js";

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
