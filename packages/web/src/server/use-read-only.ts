import type { WebInfo } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { ask, isRefusal } from "./get.js";
import { tabToken } from "./token.js";

const READ_ONLY = "It requires the operator token: you have only the right to read.";

let known: { token: string | undefined; reason: Promise<string | undefined> } | undefined;

/** Why this tab may not change rollouts; undefined where it may, while that is not known, and until it is `wanted`. */
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
    const { has_operator, is_operator } = await ask<WebInfo>("/web/info");
    if (is_operator) return undefined;
    return has_operator
      ? READ_ONLY
      : "It requires an operator: set OPENENV_OPERATOR_TOKEN where the server is started.";
  } catch (error) {
    return isRefusal(error) ? READ_ONLY : undefined;
  }
}
