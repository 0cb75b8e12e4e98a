import { expect, test } from "vitest";
import * as z from "zod";
import { startLimited } from "../../../../../test-support/servers/limited-server.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { defineContract, defineEnvironment } from "../../index.js";

const contract = defineContract({
  name: "sized_env",
  action: z.object({ text: z.string() }),
  observation: z.object({ text: z.string() }),
});

test("answers of every size arrive whole, and in order when they leave together", async () => {
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "" } }),
    step: ({ text }) => ({ observation: { text } }),
  }));
  const { url, close } = await startLimited(environment, 64 * 1024 * 1024);
  const socket = await openTestSocket(`${url}/ws`);
  await socket.ask({ type: "reset" });
  // Headers change at 126 and 65,536 bytes, the high byte of a length at 256, and short answers end at 4 KiB.
  const sizes = [...Array(300).keys(), ...Array.from({ length: 300 }, (_, n) => 3_850 + n), 65_300, 65_600];
  const texts = sizes.flatMap((size) => ["x".repeat(size), `${"x".repeat(size)}é`, `${"x".repeat(size)}水😀`]);
  const answers = await Promise.all(texts.map((text) => socket.ask({ type: "step", data: { text } })));
  const seen = answers.map((answer) => (answer as { data: { observation: { text: string } } }).data.observation.text);
  expect(seen).toEqual(texts);
  socket.ws.close();
  close();
}, 60_000);
