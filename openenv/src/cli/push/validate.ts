import { findEnvironment } from "../find-environment.js";
import { loadEnvironment } from "../load-environment.js";

/** What is published works: @throws ConfigError with what is wrong. */
export async function validateBeforePush(dir: string, _options: { signal: AbortSignal }): Promise<void> {
  await loadEnvironment(await findEnvironment(dir));
}
