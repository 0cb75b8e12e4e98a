/**
 * Plays the examples of docs/reference/frames.md on a server of the echo environment, in the order of the page:
 *
 *     ```json client=/ws     is sent on the socket of this path, which is opened when the page first names it
 *     ```json server=/ws     is what the server must send next on it; the wording of messages may differ
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BATCH_METHODS, MAX_BATCH_ITEMS } from "../packages/openenv/src/protocol/batch.js";
import { STATUS } from "../packages/openenv/src/protocol/http.js";
import { CLOSE_CODES, EXTENSIONS } from "../packages/openenv/src/protocol/messages.js";
import { startCommand } from "../test-support/commands/command-line.js";
import { openTestSocket, type TestSocket } from "../test-support/sockets/socket.js";
import { ROOT } from "./code-blocks.js";

const page = readFileSync(join(ROOT, "docs/reference/frames.md"), "utf8");
const examples = [...page.matchAll(/^```json (client|server)=(\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, sender, path = "", text = ""]) => ({ sender, path, frame: JSON.parse(text) as Record<string, unknown> }),
);

test("the server answers each example of the page as the page says", async () => {
  await using server = startCommand(["serve", "envs/echo", "--port", "0"], { cwd: ROOT });
  const [, url = ""] = await server.printed(/at (http:\S+)/);
  const sockets = new Map<string, TestSocket>();
  try {
    for (const { sender, path, frame } of examples) {
      const socket = sockets.get(path) ?? (await openTestSocket(url + path));
      sockets.set(path, socket);
      if (sender === "server") expect(withoutWording(await socket.receive())).toEqual(withoutWording(frame));
      else socket.send(frame);
      if (frame["type"] === "close") expect((await socket.closed).code).toBe(CLOSE_CODES.normal);
    }
  } finally {
    for (const socket of sockets.values()) await socket[Symbol.asyncDispose]();
  }
  expect(examples.length).toBeGreaterThan(20);
});

test("the page names each frame of a batch, error code, extension and close code", () => {
  const names = [...Object.keys(BATCH_METHODS), ...Object.keys(STATUS), ...EXTENSIONS].map((name) => `\`${name}\``);
  const rows = Object.values(CLOSE_CODES).map((code) => `| ${code} |`);
  const limit = MAX_BATCH_ITEMS.toLocaleString("en");
  expect([...names, ...rows, limit].filter((text) => !page.includes(text))).toEqual([]);
});

/** The message of an error and of each of its entries is for people, and the server makes ids. */
function withoutWording(frame: Record<string, unknown>): unknown {
  const isWording = (key: string): boolean => ["message", "msg", "session_id"].includes(key);
  return JSON.parse(JSON.stringify(frame), (key, value: unknown) => (isWording(key) ? typeof value : value));
}
