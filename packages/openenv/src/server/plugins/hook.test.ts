import { expect, test } from "vitest";
import type { Log } from "../../util/log.js";
import { HookCaller } from "./hook.js";

test("the log names the plugin, the hook and the unknown code of a refusal", () => {
  const lines: object[] = [];
  const write = (fields: object): void => void lines.push(fields);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const refusal = new HookCaller("quota", log).call("admit", () => ({ code: "FULL", message: "two for each" }));
  expect(refusal).toMatchObject({ code: "PLUGIN_FAILED", message: expect.stringContaining('"quota"') });
  const err = new TypeError('the code of a refusal, "FULL", is not in the table of errors');
  expect(lines).toEqual([{ plugin: "quota", hook: "admit", err }]);
});
