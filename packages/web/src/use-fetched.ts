import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { ask, RequestError } from "./server/get.js";

/** What the server tells of itself at one of its routes. */
export interface Fetched<T> {
  /** Undefined until it has come. */
  value: T | undefined;
  /** Why the last asking failed, in words that can be shown. */
  problem: string | undefined;
  /** It failed because the server wants a token, or another one. */
  needsToken: boolean;
  /** Asks again. */
  load(): void;
}

/** Asks a route, and again with each new session: a server that came back may be another one. */
export function useFetched<T>(path: string, sessions: number): Fetched<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<Error>();
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
      (error: Error) => ifLatest(() => setProblem(error)),
    );
  }, [path]);
  const isBack = sessions > 1;
  // Before the first drawing, which takes its time.
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each new session
  useLayoutEffect(load, [load, isBack && sessions]);
  const needsToken = problem instanceof RequestError && problem.status === 401;
  return { value, problem: problem?.message, needsToken, load };
}
