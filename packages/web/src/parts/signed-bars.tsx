import { formatReward } from "./text/format.js";

interface SignedBarsProps {
  /** Named parts. */
  parts: readonly (readonly [name: string, value: number])[];
  /** The number that they are parts of; null for none. */
  total: number | null;
}

const MAX_PARTS = 50;

/** The parts of a reward as bars from one zero line. What the parts do not explain is a part as well, so that they add up. */
export function SignedBars({ parts, total }: SignedBarsProps) {
  const rows = withRest(parts, total);
  const most = Math.max(...rows.map(([, value]) => (Number.isFinite(value) ? Math.abs(value) : 0))) || 1;
  return (
    <dl className="signed">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt className="clip" title={name}>
            <bdi>{name}</bdi>
          </dt>
          <dd className="num">{value > 0 ? `+${formatReward(value)}` : formatReward(value)}</dd>
          <svg className="signed__bar" viewBox="-50 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect x="-50" width="100" height="6" className="meter__rail" />
            <rect
              x={Math.min(0, widthOf(value, most))}
              width={Math.abs(widthOf(value, most))}
              height="6"
              className={value > 0 ? "signed__plus" : "meter__fill"}
            />
            <rect x="-0.25" width="0.5" height="6" className="signed__zero" />
          </svg>
        </div>
      ))}
      {total === null ? null : (
        <div className="signed__sum">
          <dt>total</dt>
          <dd className="num">{formatReward(total)}</dd>
        </div>
      )}
    </dl>
  );
}

/** The parts, and as the last one the difference of their sum from the total. */
export function withRest(parts: SignedBarsProps["parts"], total: number | null): (readonly [string, number])[] {
  const shown = parts.slice(0, MAX_PARTS);
  const rest = (total ?? Number.NaN) - shown.reduce((sum, [, value]) => sum + value, 0);
  return Math.abs(rest) >= 0.005 ? [...shown, ["other", rest]] : [...shown];
}

function widthOf(value: number, most: number): number {
  return Number.isFinite(value) ? (50 * value) / most : Math.sign(value || 0) * 50;
}
