import { useCallback, useEffect, useState } from "react";
import type { SchemaBody } from "../../openenv/src/protocol/http.js";
import { ask } from "./server/get.js";

export interface SchemaState {
  schema: SchemaBody | undefined;
  problem: string | undefined;
  load(): void;
}

/** The schemas of the server; `load` asks for them again. */
export function useSchema(): SchemaState {
  const [schema, setSchema] = useState<SchemaBody>();
  const [problem, setProblem] = useState<string>();
  const load = useCallback(() => {
    setProblem(undefined);
    ask<SchemaBody>("/schema").then(setSchema, (error: Error) => setProblem(error.message));
  }, []);
  useEffect(load, [load]);
  return { schema, problem, load };
}
