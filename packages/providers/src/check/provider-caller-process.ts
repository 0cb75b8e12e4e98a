/** Starts what it is told and waits to be ended, as a program would be in the middle of its work. */

import { createFromDescriptor } from "../lifecycle/create-from-descriptor.js";
import type { Provider } from "../provider.js";
import type { CallerAnswer, CallerTask } from "./provider-caller.js";

process.once("message", async ({ descriptor, spec }: CallerTask) => {
  process.send?.(await start({ descriptor, spec }));
});

// Nothing that was started keeps its caller alive.
setInterval(() => {}, 60_000);

async function start({ descriptor, spec }: CallerTask): Promise<CallerAnswer> {
  try {
    const { url } = await ((await createFromDescriptor(descriptor)) as Provider).start(spec);
    return { url };
  } catch (error) {
    return { error: String(error) };
  }
}
