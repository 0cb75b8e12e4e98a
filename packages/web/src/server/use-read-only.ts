import type { WebInfo } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { ask, isRefusal } from "./get.js";
import { tabToken } from "./token.js";

let known: { token: string | undefined; reason: Promise<string | undefined> } | undefined;

/**
 * Why this tab may not change rollouts; undefined where it may, and while that is not known. The server counts the question of
 * others than operators as an error, so it is asked once, and when the answer is `wanted`.
 */
export function useReadOnly(wanted = true): string | undefined {
  const [reason, setReason] = useState<string>();
  useEffect(() => {
    if (!wanted) return;
    if (!known || known.token !== tabToken()) known = { token: tabToken(), reason: readReason() };
    void known.reason.then(setReason);
  }, [wanted]);
  return reason;
}

async function readReason(): Promise<string | undefined> {
  try {
    const { has_operator } = await ask<WebInfo>("/web/info");
    if (!has_operator) return "It requires an operator: set OPENENV_OPERATOR_TOKEN where the server is started.";
    // Nothing else says whether a token is that of an operator.
    await ask("/web/server?limit=1");
  } catch (error) {
    if (isRefusal(error)) return "It requires the operator token: you have only the right to read.";
  }
  return undefined;
}
