/** `0.3 ms`, `120 ms`, `30.0 s`. */
export function formatMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms`;
}

/** Two digits for a number that has some, `none` for null: never the one for the other. */
export function formatReward(reward: number | null, none = "none"): string {
  if (reward === null) return none;
  if (!Number.isFinite(reward)) return String(reward);
  const size = Math.abs(reward);
  if (size !== 0 && (size < 0.005 || size >= 1e6)) return reward.toPrecision(3).replace("-", "−");
  return reward.toFixed(2).replace("-", "−");
}

/** `44 bytes`, `1.9 kB`, `3.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1 step`, `1,204 characters`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** `14:02:51`, with milliseconds on request. */
export function formatTime(at: number, precise = false): string {
  const time = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return precise ? `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}` : clock;
}
