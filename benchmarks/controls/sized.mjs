/** `node sized.mjs <kind>`: an environment whose observations have one of the sizes of `sizes.mjs`. */
import { bytes, defineContract, defineEnvironment } from "openenv-ts";
import { serve } from "openenv-ts/server";
import * as z from "zod";
import { ready } from "./ready.mjs";
import { SIZES } from "./sizes.mjs";

const FIELDS = { text: z.string(), integers: z.array(z.int()), floats: z.array(z.number()), bytes: bytes() };

const { field, make, empty } = SIZES[process.argv[2]];
const contract = defineContract({
  name: "sized_env",
  action: z.object({}),
  observation: z.object({ value: FIELDS[field] }),
});
const value = make();
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { value: empty } }),
  step: () => ({ observation: { value }, reward: 1 }),
}));
const server = await serve(environment, { port: 0, maxConcurrentEnvs: 100, handleSignals: true });
ready(server.port);
