import type { RunningServer, ServeOptions } from "../server/types.js";
import { loadModule } from "./load-environment.js";

/** Serves the environment of one module until a signal ends the process. */
export async function serveModule(file: string, options: ServeOptions): Promise<RunningServer> {
  const { environment, url } = await loadModule(file);
  const { serve } = await import("../serve.js");
  return await serve(environment, { ...options, module: url, handleSignals: true });
}
