import { ConnectionError, RemoteError } from "../../errors.js";
import type { ClientContract } from "../contract.js";
import { createLossExplainer, type Ended, type ExplainLoss } from "../loss.js";
import { isFailure, type LaneAnswers, type LaneFailure } from "../many/lanes.js";
import type { CallOptions, ConnectOptions } from "../options.js";
import { type Prepared, prepare } from "../prepare.js";

/** One of the servers of a pool. */
export interface PoolServer {
  readonly url: string;
  /** How many sessions of the pool are placed there. */
  load: number;
  /** Of one that was started for the pool: puts into an error why it has ended. */
  explainLoss: ExplainLoss | undefined;
  /**
   * Compares the contract, once it was reached. All that need it share the answer, so `signal` is no single call's.
   * @throws ConnectionError, RemoteError, ContractMismatchError.
   */
  prepare(signal: AbortSignal | undefined): Promise<Prepared>;
}

export function createPoolServer(
  url: string,
  contract: ClientContract | undefined,
  { ended, ...options }: ConnectOptions & { ended?: Ended | undefined },
): PoolServer {
  let prepared: Promise<Prepared> | undefined;
  return {
    url,
    load: 0,
    explainLoss: ended && createLossExplainer({ url, ended }),
    prepare: (signal) => {
      const asking = prepared ?? prepare(url, contract, { ...options, signal });
      prepared = asking;
      // One that could not be reached is asked again by the next that wants it.
      asking.catch(() => {
        if (prepared === asking) prepared = undefined;
      });
      return asking;
    },
  };
}

/** Whether connecting to this server may succeed later: nothing is wrong with its address, with us or with the contract. */
export function mayComeLater(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "CONNECTION_FAILED" || error.code === "CLIENT_TIMEOUT";
  if (!(error instanceof RemoteError)) return false;
  const { status } = error.details;
  return typeof status === "number" && (status >= 500 || BUSY.includes(status));
}

/** Request Timeout and Too Many Requests. */
const BUSY = [408, 429];

/** Whether this server alone has failed, for now: its contract fits as far as is known, and nobody has given up. */
export function isServerFailure(error: unknown): boolean {
  if (!(error instanceof RemoteError || error instanceof ConnectionError)) return false;
  // An environment that cannot be made here cannot be made elsewhere: all servers serve the same.
  return !["ABORTED", "CLIENT_CLOSED", "CONTRACT_MISMATCH", "FACTORY_ERROR"].includes(error.code);
}

/** Puts into what was lost why its server has ended, if that is told in time. */
export async function explainLosses(
  answers: LaneAnswers,
  serverOf: (index: number) => PoolServer | undefined,
  limits: CallOptions,
): Promise<void> {
  const failures = [...answers].filter(([, answer]) => isFailure(answer));
  const explaining = failures.map(async ([index, failure]) => {
    const explained = await serverOf(index)?.explainLoss?.(failure, limits);
    if (explained) answers.set(index, explained as LaneFailure);
  });
  await Promise.all(explaining);
}
