/** `0.3 ms`, `120 ms`, `30.0 s`. */
export function formatMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms`;
}

/** Formats a reward with two digits, and null as `none`, so that null never looks like 0. */
export function formatReward(reward: number | null, none = "none"): string {
  if (reward === null) return none;
  if (!Number.isFinite(reward)) return String(reward);
  const size = Math.abs(reward);
  if (size !== 0 && (size < 0.005 || size >= 1e6)) return reward.toPrecision(3).replace("-", "−");
  return reward.toFixed(2).replace("-", "−");
}

/** `44 bytes`, `1.9 kB`, `3.2 MB`, with `digits` decimals. */
export function formatBytes(bytes: number, digits = 1): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(digits)} kB`;
  return `${(bytes / 1_000_000).toFixed(digits)} MB`;
}

/** `41 s`, `58 min`, `3 h 04 min`, `2 d 5 h`. */
export function formatDuration(seconds: number): string {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes < 2) return `${Math.floor(seconds)} s`;
  if (hours < 1) return `${minutes} min`;
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Milliseconds in few characters: `41 ms`, `9.3 s`, `41 s`, `1:12`, `2:04:10`. */
export function formatClock(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.floor(ms / 1000)} s`;
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1000) % 60,
  ];
  const two = (number: number): string => String(number).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/** A rate per second: `0`, `0.2`, `41.2`, `1,284`. */
export function formatRate(rate: number): string {
  return rate > 0 && rate < 100 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en");
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `840`, `12.3K`, `4.5M`. */
export function formatCount(number: number): string {
  return number < 10_000 ? number.toLocaleString("en") : COMPACT.format(number);
}

/** Formats any value for a sentence. An object may have no string form. */
export function inWords(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** `1 step`, `1,204 characters`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** `step 3`, and `the reset` for 0. */
export function stepInWords(number: number): string {
  return number === 0 ? "the reset" : `step ${number}`;
}

/** `14:02:51`, with milliseconds on request. */
export function formatTime(at: number, precise = false): string {
  const time = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return precise ? `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}` : clock;
}
