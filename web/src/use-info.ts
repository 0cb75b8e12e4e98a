import { useCallback, useLayoutEffect, useState } from "react";
import type { WebInfo } from "../../openenv/src/protocol/web.js";
import { ask } from "./server/get.js";

export interface InfoState {
  info: WebInfo | undefined;
  problem: string | undefined;
  retry(): void;
}

/** What the server tells the page at its start. */
export function useInfo(): InfoState {
  const [info, setInfo] = useState<WebInfo>();
  const [problem, setProblem] = useState<string>();
  const load = useCallback(() => {
    setProblem(undefined);
    ask<WebInfo>("/web/info").then(setInfo, (error: Error) => setProblem(error.message));
  }, []);
  // Before the first drawing, which takes its time.
  useLayoutEffect(load, [load]);
  return { info, problem, retry: load };
}
