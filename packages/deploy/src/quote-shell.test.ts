import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { quoteShell } from "./quote-shell.js";

const WORDS = [
  "plain/path-1.0:@+",
  "a folder",
  "author's games",
  '"quoted"',
  "$HOME",
  "`id`",
  "a;b",
  "~",
  "*",
  "",
  "\\",
  "ü",
];

test("a shell reads a quoted word as it was", async () => {
  const { stdout } = await promisify(execFile)("sh", ["-c", `printf '%s\\n' ${WORDS.map(quoteShell).join(" ")}`]);
  expect(stdout).toBe(`${WORDS.join("\n")}\n`);
  expect(quoteShell("envs/chess")).toBe("envs/chess");
});
