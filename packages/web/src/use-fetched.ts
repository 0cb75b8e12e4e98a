import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { ask, isRefusal, RequestError } from "./server/get.js";

/** The data of a route of the server. */
export interface Fetched<T> {
  /** Undefined until it has loaded. */
  value: T | undefined;
  /** Error message of the last request, which can be shown. */
  problem: string | undefined;
  /** True when the request failed because of a missing or wrong token. */
  needsToken: boolean;
  /** True when the token is missing, wrong, or without the right. */
  refused: boolean;
  /** Repeats the request. */
  load(): void;
}

/** Fetches a route, and again with each new session, because a restarted server may differ. */
export function useFetched<T>(path: string, sessions: number): Fetched<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<Error>();
  const latest = useRef(0);
  const load = useCallback(() => {
    const number = ++latest.current;
    // An older response may arrive after a newer one.
    const ifLatest = (take: () => void): void => {
      if (number === latest.current) take();
    };
    setProblem(undefined);
    ask<T>(path).then(
      (answer) => ifLatest(() => setValue(answer)),
      (error: Error) => ifLatest(() => setProblem(error)),
    );
  }, [path]);
  const isBack = sessions > 1;
  // The request is sent before the first render, which takes time.
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each new session
  useLayoutEffect(load, [load, isBack && sessions]);
  const needsToken = problem instanceof RequestError && problem.status === 401;
  return { value, problem: problem?.message, needsToken, refused: isRefusal(problem), load };
}
