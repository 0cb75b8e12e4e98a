import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import { chooseFolder } from "./socket-folder.js";

/** Nobody can make a folder in a file, not even root. */
const [FILE, OTHER] = [import.meta.filename, join(import.meta.dirname, "supervisor.ts")];

test("workers' sockets are in the first place that can be written, in a folder that is not made yet", () => {
  const folder = chooseFolder([FILE, tmpdir()]);
  expect([dirname(folder), existsSync(folder)]).toEqual([tmpdir(), false]);
  expect(chooseFolder([FILE, tmpdir()])).not.toBe(folder);
});

test("where no place can be written, the error names them, the reason and what to do", () => {
  expect(() => chooseFolder([FILE, OTHER])).toThrow(ConfigError);
  const words = `neither ${FILE} nor ${OTHER} can be written (ENOTDIR`;
  expect(() => chooseFolder([FILE, OTHER])).toThrow(words);
  expect(() => chooseFolder([FILE, OTHER])).toThrow(/set TMPDIR to one that can, in a container with --tmpfs \/tmp\.$/);
});
