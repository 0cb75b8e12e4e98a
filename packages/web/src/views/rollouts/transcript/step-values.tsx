import type { ForkValue } from "openenv-ts/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { count, formatReward, stepInWords } from "../../../parts/text/format.js";
import { ask } from "../../../server/get.js";
import { readStream } from "../../../server/read-stream.js";
import { useReadOnly } from "../../../server/use-read-only.js";

/** Rows of forks reach the store about two seconds after their episodes: they are read until then, at this interval. */
const STORED_MS = 5000;
const EVERY_MS = 250;
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
  const [typed, setTyped] = useState("16");
  const forks = Number(typed);
  const [isSetOpen, setIsOpen] = useState<boolean>();
  const isOpen = isSetOpen ?? values.length > 0;
  const readOnly = useReadOnly(isOpen);
  const [low, high] = rangeOf(values);
  return (
    <details className="tr__value" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Value of each step</summary>
      {values.length === 0 ? null : (
        <ul>
          {values.map((value) => (
            <li key={`${value.step} ${value.policy}`}>
              <span>
                {stepInWords(value.step)}, {value.policy}
              </span>
              <Interval value={value} low={low} high={high} />
              <span className="num">{formatReward(value.mean)}</span>
              <span className="muted">{count(value.count, "fork")}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="acts">
        <Button
          look="sm"
          free={step !== null && playing === undefined && readOnly === undefined}
          title={readOnly}
          onClick={() => void play({ step: step ?? 0, count: forks, policy })}
        >
          {playing === undefined
            ? `Play ${count(forks, "fork")} after ${step === null ? "step …" : stepInWords(step)}`
            : `${playing} of ${forks} played`}
        </Button>
        <label>
          Forks{" "}
          <input
            className="input"
            type="number"
            min={1}
            value={typed}
            disabled={playing !== undefined}
            onChange={({ target }) => setTyped(target.value)}
          />
        </label>
        <label>
          Actions{" "}
          <select className="input" value={policy} onChange={({ target }) => setPolicy(target.value as ForkPolicy)}>
            {POLICIES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {readOnly === undefined ? null : <p className="hint">{readOnly}</p>}
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
      ? `mean ${formatReward(mean)}`
      : `mean ${formatReward(mean)}, between ${formatReward(low)} and ${formatReward(high)}`;
  return (
    <svg className="iv" role="img" aria-label={label} preserveAspectRatio="none" viewBox="0 0 100 8">
      <rect x={from} y={2} width={Math.max(0.5, to - from)} height={4} />
      <line x1={place(mean)} x2={place(mean)} y1={0} y2={8} />
    </svg>
  );
}

function useForks(id: string) {
  const [values, setValues] = useState<readonly ForkValue[]>([]);
  const [playing, setPlaying] = useState<number>();
  const [problem, setProblem] = useState<string>();
  const left = useRef(new AbortController());
  const path = `/rollouts/${encodeURIComponent(id)}/forks`;
  const read = useCallback(
    async (signal: AbortSignal) => (await ask<{ values: ForkValue[] }>(path, { signal })).values,
    [path],
  );
  useEffect(() => {
    const controller = new AbortController();
    left.current = controller;
    // The transcript has the same right, and shows why a request fails.
    read(controller.signal).then(setValues, () => {});
    return () => controller.abort();
  }, [read]);
  /** Reads the values that include these forks, or after a while those that are there. */
  const readStored = async (forks: ForkValue, signal: AbortSignal): Promise<void> => {
    const wanted = numberOf(forks) + numberOf(values.find((one) => isAlike(one, forks)));
    for (const end = performance.now() + STORED_MS; ; ) {
      const stored = await read(signal);
      const isComplete = numberOf(stored.find((one) => isAlike(one, forks))) >= wanted;
      if (isComplete || performance.now() > end) return setValues(stored);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  };
  const play = async (order: { step: number; count: number; policy: ForkPolicy }): Promise<void> => {
    setProblem(undefined);
    setPlaying(0);
    const { signal } = left.current;
    let last: ForkValue | undefined;
    try {
      await readStream(path, { body: order, signal }, (event, data) => {
        if (event === "problem") return setProblem((data as { message: string }).message);
        if (event !== "value") return;
        const value = (last = data as ForkValue);
        setPlaying(numberOf(value));
        // The value of earlier forks has to wait for one that includes them.
        if (!values.some((one) => isAlike(one, value))) setValues([...values, value].toSorted(inOrder));
      });
    } catch (error) {
      if (!signal.aborted) setProblem((error as Error).message);
    }
    if (last) await readStored(last, signal).catch(() => {});
    setPlaying(undefined);
  };
  return { values, playing, problem, play };
}

function isAlike(one: ForkValue, other: ForkValue): boolean {
  return one.step === other.step && one.policy === other.policy;
}

function inOrder(one: ForkValue, other: ForkValue): number {
  return one.step - other.step || one.policy.localeCompare(other.policy);
}

/** The number of forks, with those that count for nothing. */
function numberOf(value: ForkValue | undefined): number {
  return value ? value.count + value.lost : 0;
}

/** One axis for all intervals. */
function rangeOf(values: readonly ForkValue[]): [low: number, high: number] {
  const ends = values.flatMap(({ mean, low, high }) => [mean, low, high].filter((end) => end !== null));
  return [Math.min(0, ...ends), Math.max(0, ...ends)];
}
