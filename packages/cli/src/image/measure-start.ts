import { dockerProvider, type StartedServer } from "@openenv-ts/providers";
import { ProviderError } from "openenv-ts";

export interface StartCheck {
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/**
 * Starts the image once, stops it, and returns the seconds until it answered a reset over its WebSocket.
 * @throws ProviderError with the last lines of its log when it does not answer.
 */
export async function measureStart(image: string, { env, signal }: StartCheck): Promise<number> {
  const begun = performance.now();
  await using _started = await start(image, { env, signal });
  return Math.round((performance.now() - begun) / 10) / 100;
}

async function start(image: string, check: StartCheck): Promise<StartedServer> {
  try {
    return await dockerProvider({ pull: "never" }).start({ image, ...check });
  } catch (error) {
    check.signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    const { code, message, logs } = error;
    throw new ProviderError(code, `${image} is built, but does not start: ${message}`, { logs, cause: error });
  }
}
