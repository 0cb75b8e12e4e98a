import type { RunningServer, ServeOptions } from "../server/types.js";
import { loadEnvironment } from "./load-environment.js";

/** Serves the environment of one module until a signal ends the process. */
export async function serveModule(file: string, options: ServeOptions): Promise<RunningServer> {
  const environment = await loadEnvironment(file);
  const { serve } = await import("../server/serve.js");
  return await serve(environment, { ...options, handleSignals: true });
}
