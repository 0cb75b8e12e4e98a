import { useCallback, useEffect, useState } from "react";
import type { SchemaBody } from "../../openenv/src/protocol/http.js";
import { ask } from "./server/get.js";

export interface SchemaState {
  schema: SchemaBody | undefined;
  problem: string | undefined;
  load(): void;
}

/** The schemas of the server, asked for again by `load` and with each new session: it may be another server by then. */
export function useSchema(sessions: number): SchemaState {
  const [schema, setSchema] = useState<SchemaBody>();
  const [problem, setProblem] = useState<string>();
  const load = useCallback(() => {
    setProblem(undefined);
    ask<SchemaBody>("/schema").then(setSchema, (error: Error) => setProblem(error.message));
  }, []);
  const isBack = sessions > 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each new session
  useEffect(load, [load, isBack && sessions]);
  return { schema, problem, load };
}
