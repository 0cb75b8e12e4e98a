import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { ask } from "./server/get.js";

/** What the server tells of itself at one of its routes. */
export interface Told<T> {
  /** Undefined until it has come. */
  value: T | undefined;
  /** Why the last asking failed, in words that can be shown. */
  problem: string | undefined;
  /** Asks again. */
  load(): void;
}

/** Asks a route, and again with each new session: a server that came back may be another one. */
export function useTold<T>(path: string, sessions: number): Told<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const asked = useRef(0);
  const load = useCallback(() => {
    const number = ++asked.current;
    // An older answer may come after a newer one.
    const ifLatest = (take: () => void): void => {
      if (number === asked.current) take();
    };
    setProblem(undefined);
    ask<T>(path).then(
      (answer) => ifLatest(() => setValue(answer)),
      (error: Error) => ifLatest(() => setProblem(error.message)),
    );
  }, [path]);
  const isBack = sessions > 1;
  // Before the first drawing, which takes its time.
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each new session
  useLayoutEffect(load, [load, isBack && sessions]);
  return { value, problem, load };
}
