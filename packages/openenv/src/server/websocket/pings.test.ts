import { expect, test } from "vitest";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { openRawPeer } from "../../../../../test-support/sockets/raw-peer.js";
import { createFrameReader, encodeFrame, OPCODE } from "../../../../bench/src/ws-codec.js";

const { start } = useServers();

test("a ping is answered while a step runs, and pings of one read are answered by one pong to the latest", async () => {
  const server = await start();
  const { socket, send } = await openRawPeer(server.url);
  const pongs: string[] = [];
  let answers = 0;
  const read = createFrameReader((opcode, payload) => {
    if (opcode === OPCODE.pong) pongs.push(String(payload));
    else answers++;
  });
  socket.on("data", read).resume();
  send({ type: "reset" }, { type: "step", data: { amount: 60 } });
  await waitFor(() => answers === 1);
  socket.write(encodeFrame(OPCODE.ping, Buffer.from("alone")));
  await waitFor(() => pongs.length === 1);
  socket.write(Buffer.concat(["a", "b", "c"].map((text) => encodeFrame(OPCODE.ping, Buffer.from(text)))));
  await waitFor(() => pongs.at(-1) === "c");
  expect([pongs, answers]).toEqual([["alone", "c"], 1]);
  socket.destroy();
});
