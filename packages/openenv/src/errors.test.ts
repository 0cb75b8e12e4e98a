import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS, RemoteError } from "./errors.js";

const page = readFileSync(new URL("../../../docs/reference/errors.md", import.meta.url), "utf8");
const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| (.*) \| (.*) \|$/gm)].map(
  ([, code, fault, meaning, remedy]) => ({
    code,
    fault,
    meaning,
    remedy,
  }),
);

test("the reference page lists every error code with the fault, meaning and remedy of the table", () => {
  const table = Object.entries(ERRORS).map(([code, { fault, meaning, remedy }]) => ({ code, fault, meaning, remedy }));
  expect(byCode(rows)).toEqual(byCode(table));
});

test.each(["constructor", "toString", "__proto__"])("%s is not an error code", (word) => {
  expect(new RemoteError(word, "")).toMatchObject({ code: "PROTOCOL_ERROR", wireCode: word });
});

function byCode<T extends { code: string | undefined }>(entries: T[]): T[] {
  return entries.toSorted((a, b) => String(a.code).localeCompare(String(b.code)));
}
