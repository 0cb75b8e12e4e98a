/** By place; null for none. */
type Values = ArrayLike<number | null | undefined>;
type Range = [low: number, high: number];

/** The ranges of rewards and totals: zero is always seen, at one height in both, and no point is cut. */
export function rangesOf([, rewards = [], totals = []]: readonly Values[]): [Range, Range] {
  const reward = extent(rewards);
  const total = extent(totals);
  const below = shareBelowZero(reward, total);
  return [around(reward, below), around(total, below)];
}

/** With zero. */
function extent(values: Values): Range {
  let [low, high] = [0, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** How much of the height is below zero: nothing without a negative value, all of it with nothing else. */
function shareBelowZero(...extents: Range[]): number {
  const shares = extents.filter(([low, high]) => low < high).map(([low, high]) => -low / (high - low));
  if (shares.every((share) => share === 0)) return 0;
  if (shares.every((share) => share === 1)) return 1;
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.min(0.85, Math.max(0.15, mean));
}

function around([low, high]: Range, below: number): Range {
  const size = Math.max(below < 1 ? high / (1 - below) : 0, below > 0 ? -low / below : 0) * 1.08 || 1;
  return [below === 0 ? 0 : -below * size, (1 - below) * size];
}
