import type { V1Pod } from "@kubernetes/client-node";
import { ProviderError } from "openenv-ts/internal";

const NO_IMAGE = ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];
const NO_START = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"];

/** Why a Pod does not come up, in the cluster's words; nothing while it still may. */
export function findFailure(pod: V1Pod): ProviderError | undefined {
  const { phase, reason, message, containerStatuses = [] } = pod.status ?? {};
  const name = pod.metadata?.name ?? "";
  for (const { state, lastState } of containerStatuses) {
    const end = state?.terminated ?? lastState?.terminated;
    if (end) {
      const advice = end.reason === "OOMKilled" ? " Raise `memory`." : "";
      const why = [end.reason, end.message].filter(Boolean).join(": ");
      return failed(`The container of Pod ${name} ended with code ${end.exitCode} (${why}).${advice}`);
    }
    const waiting = state?.waiting;
    const text = `Pod ${name} does not start: ${waiting?.reason}: ${waiting?.message ?? ""}`;
    if (NO_IMAGE.includes(waiting?.reason ?? "")) return new ProviderError("SOURCE_NOT_FOUND", text);
    if (NO_START.includes(waiting?.reason ?? "")) return failed(text);
  }
  if (phase !== "Failed" && phase !== "Succeeded") return undefined;
  return failed(`Pod ${name} has ended: ${reason ?? phase}${message ? `: ${message}` : ""}`);
}

/** Why a Pod that has run does so no more, or not for long: what has failed, or what takes it away. */
export function findEnd(pod: V1Pod): string | undefined {
  const failure = findFailure(pod);
  if (failure) return failure.message;
  if (pod.metadata?.deletionTimestamp === undefined) return undefined;
  const taken = pod.status?.conditions?.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
  const why = [taken?.reason, taken?.message].filter(Boolean).join(": ");
  return `Pod ${pod.metadata.name} is being removed${why ? `: ${why}` : ""}`;
}

/** What it waits for: `Pending (Unschedulable: 0/3 nodes are available)`. */
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

/** A list of many Pods is megabytes of work for the API server: each of them makes the next question come later. */
export function pollPause(pods: readonly V1Pod[]): number {
  return POLL_MS + POLL_MS_PER_POD * pods.length;
}

const POLL_MS = 500;
const POLL_MS_PER_POD = 5;

/** As its probe says. */
export function isReady(pod: V1Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function failed(message: string): ProviderError {
  return new ProviderError("START_FAILED", message);
}
