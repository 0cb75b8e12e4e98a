import type { ForkValue } from "openenv-ts/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { count } from "../../../parts/text/format.js";
import { ask } from "../../../server/get.js";
import { readStream } from "../../../server/read-stream.js";

const FORKS = 16;
const POLICIES = ["random", "recorded", "model"] as const;
type ForkPolicy = (typeof POLICIES)[number];

interface StepValuesProps {
  id: string;
  /** The selected step; null for none. */
  step: number | null;
}

/** What the steps of an episode are worth, as far as forks were played after them, and a button that plays more. */
export function StepValues({ id, step }: StepValuesProps) {
  const { values, playing, problem, play } = useForks(id);
  const [policy, setPolicy] = useState<ForkPolicy>("random");
  const [isOpen, setIsOpen] = useState<boolean>();
  const [low, high] = rangeOf(values);
  return (
    <details
      className="tr__value"
      open={isOpen ?? values.length > 0}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>Value of each step</summary>
      {values.length === 0 ? null : (
        <ul>
          {values.map((value) => (
            <li key={`${value.step} ${value.policy}`}>
              <span className="vl">
                {value.step === 0 ? "reset" : value.step}, {value.policy}
              </span>
              <Interval value={value} low={low} high={high} />
              <span className="num">{value.mean === null ? "none" : value.mean.toFixed(2)}</span>
              <span className="muted">{count(value.count, "fork")}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="acts">
        <Button look="sm" free={step !== null && playing === undefined} onClick={() => void play(step ?? 0, policy)}>
          {playing === undefined
            ? `Play ${FORKS} forks after ${step === 0 ? "the reset" : `step ${step ?? "…"}`}`
            : `${playing} of ${FORKS} played`}
        </Button>
        <label>
          Actions{" "}
          <select className="input" value={policy} onChange={({ target }) => setPolicy(target.value as ForkPolicy)}>
            {POLICIES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {problem === undefined ? null : (
        <Notice tone="bad" title="The forks were not played">
          {problem}
        </Notice>
      )}
    </details>
  );
}

/** The mean as a line in a bar, which is its interval of 95 %. */
function Interval({
  value: { mean, low, high },
  low: least,
  high: most,
}: {
  value: ForkValue;
  low: number;
  high: number;
}) {
  const place = (at: number): number => (most === least ? 50 : ((at - least) / (most - least)) * 100);
  if (mean === null) return <span className="iv" />;
  const [from, to] = [place(low ?? mean), place(high ?? mean)];
  const label =
    low === null || high === null
      ? `mean ${mean.toFixed(2)}`
      : `mean ${mean.toFixed(2)}, between ${low.toFixed(2)} and ${high.toFixed(2)}`;
  return (
    <svg className="iv" role="img" aria-label={label} preserveAspectRatio="none" viewBox="0 0 100 8">
      <rect x={from} y={2} width={Math.max(0.5, to - from)} height={4} />
      <line x1={place(mean)} x2={place(mean)} y1={0} y2={8} />
    </svg>
  );
}

function useForks(id: string) {
  const [values, setValues] = useState<ForkValue[]>([]);
  const [playing, setPlaying] = useState<number>();
  const [problem, setProblem] = useState<string>();
  const left = useRef(new AbortController());
  const read = useCallback(async () => {
    const { values: stored } = await ask<{ values: ForkValue[] }>(`/rollouts/${encodeURIComponent(id)}/forks`);
    setValues((shown) => stored.reduce(join, shown));
  }, [id]);
  useEffect(() => {
    const controller = new AbortController();
    left.current = controller;
    // The transcript has the same right, and shows why a request fails.
    read().catch(() => {});
    return () => controller.abort();
  }, [read]);
  const play = async (step: number, policy: ForkPolicy): Promise<void> => {
    setProblem(undefined);
    setPlaying(0);
    const { signal } = left.current;
    try {
      await readStream(
        `/rollouts/${encodeURIComponent(id)}/forks`,
        { body: { step, count: FORKS, policy }, signal },
        (event, data) => {
          if (event === "problem") return setProblem((data as { message: string }).message);
          if (event !== "value") return;
          const value = data as ForkValue;
          setPlaying(value.count + value.lost);
          setValues((shown) => join(shown, value));
        },
      );
    } catch (error) {
      if (!signal.aborted) setProblem((error as Error).message);
    } finally {
      setPlaying(undefined);
    }
  };
  return { values, playing, problem, play };
}

/** The values in the order of their steps, with this one in place of an earlier one with fewer forks. */
function join(shown: readonly ForkValue[], value: ForkValue): ForkValue[] {
  const isSame = ({ step, policy }: ForkValue): boolean => step === value.step && policy === value.policy;
  const earlier = shown.find(isSame);
  const kept = earlier !== undefined && earlier.count > value.count ? earlier : value;
  return [...shown.filter((one) => !isSame(one)), kept].toSorted((a, b) => a.step - b.step);
}

/** One axis for all intervals. */
function rangeOf(values: readonly ForkValue[]): [low: number, high: number] {
  const ends = values.flatMap(({ mean, low, high }) => [mean, low, high].filter((end) => end !== null));
  return [Math.min(0, ...ends), Math.max(0, ...ends)];
}
