import { parseAddress } from "./address.js";

/** True when `GET /health` succeeds within the limit. */
export async function isHealthy(url: string, limitMs: number): Promise<boolean> {
  try {
    const response = await fetch(parseAddress(url).http("/health"), { signal: AbortSignal.timeout(limitMs) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
