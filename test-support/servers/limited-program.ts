/** A server whose connections may hold 8 MB in all, as a program: Bun and Deno run it from the sources. */
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../packages/openenv/src/index.js";
import { startLimited } from "./limited-server.js";

const contract = defineContract({
  name: "large_env",
  action: z.object({ bytes: z.int() }),
  observation: z.object({ text: z.string() }),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "" } }),
  step: ({ bytes }) => ({ observation: { text: "x".repeat(bytes) } }),
}));
const { url } = await startLimited(environment, 8 * 1024 * 1024);
console.log(`serves at ${url}`);
