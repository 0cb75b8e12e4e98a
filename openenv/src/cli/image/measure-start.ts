import { dockerProvider } from "../../providers/docker/docker-provider.js";

export interface StartCheck {
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/**
 * Starts the image once and ends it again; returns the seconds until it answered a reset over its WebSocket.
 * @throws ProviderError with the last lines of its log when it does not.
 */
export async function measureStart(image: string, { env, signal }: StartCheck): Promise<number> {
  const begun = performance.now();
  await using _started = await dockerProvider({ pull: "never" }).start({ image, env, signal });
  return Math.round((performance.now() - begun) / 10) / 100;
}
