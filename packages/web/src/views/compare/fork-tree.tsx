import { formatReward } from "../../parts/text/format.js";
import type { Branch } from "./branches.js";

/** Units of the drawing: its width, the room of the numbers, and that below the last step. */
const WIDTH = 280;
const LEFT = 28;
const BELOW = 24;
const MOST_HEIGHT = 320;
/** The width of a label, and the height of its line. */
const [LABEL, LINE] = [44, 12];

interface ForkTreeProps {
  branches: readonly Branch[];
  /** The number of the first event that differs; undefined for none. */
  first: number | undefined;
  /** The branch of the arrow keys. */
  active: number;
}

/** Episodes that begin equally: rows are steps, branches are episodes. A is a full line, B is dashed. */
export function ForkTree({ branches, first, active }: ForkTreeProps) {
  const last = Math.max(1, ...branches.map(({ end }) => end));
  const step = Math.min(50, MOST_HEIGHT / last);
  const columns = Math.max(1, branches.length - 1);
  const apart = (WIDTH - LEFT - 48) / columns;
  const x = ({ x: column }: Branch): number => LEFT + 24 + column * apart;
  const y = (number: number): number => 12 + number * step;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => size * step >= 22) ?? last;
  // Between narrow columns only A and B have labels, that of B below that of A if they would overlap.
  const hasLabel = (at: number): boolean => at < 2 || apart >= LABEL;
  const [a, b] = branches;
  const areNear = a && b && Math.abs(x(a) - x(b)) < LABEL && Math.abs((a.end - b.end) * step) < LINE;
  const lower = areNear ? LINE : 0;
  // A and B are drawn last, above the lines that they share.
  const order = branches.map((_, at) => at).reverse();
  return (
    <svg
      className="ftree"
      viewBox={`0 0 ${WIDTH} ${y(last) + BELOW + lower}`}
      role="img"
      aria-label={treeInWords(branches, first)}
    >
      {Array.from({ length: Math.floor(last / every) + 1 }, (_, at) => at * every).map((number) => (
        <g key={number}>
          <line x1={LEFT} x2={WIDTH} y1={y(number)} y2={y(number)} />
          <text className="s" x={LEFT - 6} y={y(number) + 4} textAnchor="end">
            {number}
          </text>
        </g>
      ))}
      {first === undefined ? null : (
        <rect
          className="fd"
          x={LEFT}
          y={y(first) - Math.min(12, step / 2)}
          width={WIDTH - LEFT}
          height={Math.min(24, step)}
          rx="4"
        />
      )}
      {order.map((at) => {
        const branch = branches[at] as Branch;
        const parent = branch.from ? branches[branch.from.branch] : undefined;
        const side = sideOf(at);
        return <path key={branch.row.id} className={side} d={lineOf(branch, parent, side === "b", x, y)} />;
      })}
      {order.map((at) => {
        const { row, end, ...place } = branches[at] as Branch;
        const [cx, cy] = [x({ row, end, ...place }), y(end)];
        const look = row.outcome === "failed" ? "bad" : row.outcome === "done" ? "full" : "";
        return (
          <g key={row.id} className={at === active ? "active" : undefined}>
            <rect className={`end ${sideOf(at)} ${look}`} x={cx - 5} y={cy - 5} width="10" height="10" rx="2" />
            {hasLabel(at) ? (
              <text className={at < 2 ? "st" : "s"} x={cx} y={cy + 19 + (at === 1 ? lower : 0)} textAnchor="middle">
                {at < 2 ? `${sideOf(at).toUpperCase()} ` : ""}
                {formatReward(row.reward, "–")}
              </text>
            ) : null}
          </g>
        );
      })}
    </svg>
  );
}

function sideOf(at: number): "a" | "b" | "" {
  return at === 0 ? "a" : at === 1 ? "b" : "";
}

type Place<T> = (of: T) => number;

/** Along its own column from where it parts from its branch; B from the reset on, next to A. */
function lineOf(branch: Branch, parent: Branch | undefined, isB: boolean, x: Place<Branch>, y: Place<number>): string {
  const [to, end] = [x(branch), y(branch.end)];
  const { from } = branch;
  if (!from || !parent) return `M${to},${y(0)}V${end}`;
  const [start, top] = [x(parent), y(from.step)];
  const shared = `M${start},${isB ? y(0) : top}V${top}`;
  if (branch.end <= from.step) return `${shared}H${to}`;
  const bottom = y(from.step + 1);
  const middle = (top + bottom) / 2;
  return `${shared}C${start},${middle} ${to},${middle} ${to},${bottom}V${end}`;
}

function treeInWords(branches: readonly Branch[], first: number | undefined): string {
  const [a, b] = branches;
  const part = first === undefined ? "A and B are equal" : `A and B part at step ${first}`;
  const ends = [a, b].map((one, at) =>
    one ? `${sideOf(at).toUpperCase()} ends after ${one.row.steps} steps with ${formatReward(one.row.reward)}` : "",
  );
  return `Tree of ${branches.length} episodes. ${part}. ${ends.filter(Boolean).join(", ")}. The list below has all of them.`;
}
