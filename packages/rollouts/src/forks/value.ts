import type { ForkValue } from "#core/protocol/rollouts.js";

/** Limits for 95 %: Student's distribution has one for each degree of freedom; with more, the normal one is close enough. */
const T95 = [
  12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.1, 2.09, 2.09,
];
const NORMAL = 1.96;

/** The mean reward of forks after a step, with its interval of 95 %. Those that failed (null) count for nothing. */
export function summarizeForks(step: number, policy: string, given: readonly (number | null)[]): ForkValue {
  const rewards = given.filter((reward) => reward !== null);
  const count = rewards.length;
  const lost = given.length - count;
  if (count === 0) return { step, policy, count, lost, mean: null, low: null, high: null };
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / count;
  if (count === 1) return { step, policy, count, lost, mean, low: null, high: null };
  const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / (count - 1);
  const half = (T95[count - 2] ?? NORMAL) * Math.sqrt(variance / count);
  return { step, policy, count, lost, mean, low: mean - half, high: mean + half };
}
