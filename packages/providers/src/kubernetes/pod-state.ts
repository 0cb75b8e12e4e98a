import type { V1Pod } from "@kubernetes/client-node";
import { ProviderError } from "openenv-ts";

const NO_IMAGE = ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];
const NO_START = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"];

/** Why a Pod fails to start, with the cluster's message; undefined while it may still start. */
export function findFailure(pod: V1Pod): ProviderError | undefined {
  const { phase, reason, message, containerStatuses = [] } = pod.status ?? {};
  const name = pod.metadata?.name ?? "";
  for (const { state, lastState } of containerStatuses) {
    const end = state?.terminated ?? lastState?.terminated;
    if (end) {
      const advice = end.reason === "OOMKilled" ? " Raise `memory`." : "";
      const why = [end.reason, end.message].filter(Boolean).join(": ");
      return failed(`The container of Pod ${name} exited with code ${end.exitCode} (${why}).${advice}`);
    }
    const waiting = state?.waiting;
    const text = `Pod ${name} does not start: ${waiting?.reason}: ${waiting?.message ?? ""}`;
    if (NO_IMAGE.includes(waiting?.reason ?? "")) return new ProviderError("SOURCE_NOT_FOUND", text);
    if (NO_START.includes(waiting?.reason ?? "")) return failed(text);
  }
  if (phase !== "Failed" && phase !== "Succeeded") return undefined;
  return failed(`Pod ${name} has ended: ${reason ?? phase}${message ? `: ${message}` : ""}`);
}

/** Why a Pod that was running has ended or is about to: its failure, or the reason of its removal. */
export function findEnd(pod: V1Pod): string | undefined {
  const failure = findFailure(pod);
  if (failure) return failure.message;
  if (pod.metadata?.deletionTimestamp === undefined) return undefined;
  const taken = pod.status?.conditions?.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
  const why = [taken?.reason, taken?.message].filter(Boolean).join(": ");
  return `Pod ${pod.metadata.name} is being removed${why ? `: ${why}` : ""}`;
}

/** Describes the state: `Pending (Unschedulable: 0/3 nodes are available)`. */
export function describePod(pod: V1Pod): string {
  const { phase = "Unknown", conditions = [], containerStatuses = [] } = pod.status ?? {};
  const waiting = containerStatuses.find(({ state }) => state?.waiting)?.state?.waiting;
  const unscheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  const why = waiting ?? unscheduled;
  return why?.reason ? `${phase} (${why.reason}${why.message ? `: ${why.message}` : ""})` : phase;
}

export function isRunning(pod: V1Pod): boolean {
  return pod.status?.phase === "Running" && pod.metadata?.deletionTimestamp === undefined;
}

/** A list of many Pods costs the API server megabytes, so each Pod lengthens the pause before the next request. */
export function pollPause(pods: readonly V1Pod[]): number {
  return POLL_MS + POLL_MS_PER_POD * pods.length;
}

const POLL_MS = 500;
const POLL_MS_PER_POD = 5;

/** True when the readiness probe succeeds. */
export function isReady(pod: V1Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function failed(message: string): ProviderError {
  return new ProviderError("START_FAILED", message);
}
