import { fileURLToPath } from "node:url";
import { processProvider } from "@openenv-ts/providers";
import { startChild } from "../harness/children.mjs";
import { answersReset, timeStart } from "./ready.mjs";

/** Compiled, so that Node runs both without a build. */
export const ECHO = fileURLToPath(new URL("../../envs/echo/dist/", import.meta.url));

export const title = "a process";

export async function run(bench) {
  const provider = processProvider();
  const rounds = bench.quick ? 4 : 15;
  const samples = await bench.interleave({ ours: rounds, bare: rounds }, (subject) =>
    timeStart(subject === "ours" ? () => provider.start({ directory: ECHO }) : startBare),
  );
  return [
    {
      id: "process-ready",
      measure: "a process, until it is ready",
      unit: "ms",
      samples,
      targets: [{ limit: "at most", value: 1.5, of: "bare" }],
    },
  ];
}

async function startBare() {
  const server = await startChild([process.execPath, `${ECHO}server/app.js`], {
    findPort: (text) => /127\.0\.0\.1:(\d+)/.exec(text)?.[1],
    env: { PORT: "0" },
  });
  await answersReset(server.url);
  return server;
}
