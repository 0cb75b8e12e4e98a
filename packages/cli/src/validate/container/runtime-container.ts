import { checker } from "openenv-ts/internal";
import { checkServer } from "openenv-ts/testing";
import { hasEngine } from "../../image/docker.js";
import { portabilityCheck, type ReplayPair } from "../replay.js";
import { type Result, toResult } from "../report/package-report.js";
import type { Level } from "../report/policy.js";
import { fromCheck } from "../runtime-results.js";
import type { Declared, ServerChecking } from "../validate-options.js";
import { buildImage, type Container, reaches, startContainer } from "./container.js";
import { containmentChecks, envelopeCheck } from "./containment.js";

export interface ContainerWork {
  dir: string;
  declared: Declared;
  /** The same options as for the process, except the server to compare with. */
  checking: ServerChecking;
  /** The episode to compare, and the server process. */
  replay: Omit<ReplayPair, "second" | "made">;
  level: Level;
  signal: AbortSignal;
  onProgress(line: string): void;
}

const NETWORK = "runtime.network_policy";
/** Checks that only apply to the container. */
const CONTAINER_CHECKS = [
  NETWORK,
  "runtime.host_containment",
  "runtime.resource_bounds",
  "semantic.verifier_portability",
  "semantic.resource_envelope",
];
/** Two workers, like a deployed server, with the same total capacity as the process. */
const VARIABLES = { LOG_LEVEL: "warn", WORKERS: "2", MAX_CONCURRENT_ENVS: "2" };

/** Builds the declared image, starts it, runs the same checks as on the process, and checks its limits. */
export async function checkContainer(work: ContainerWork): Promise<Result[]> {
  const { dir, declared, checking, level, signal, onProgress } = work;
  const { execution, network } = declared.validation;
  // The report lists the skipped checks with the reason.
  if (execution === undefined) return [];
  const ids = CONTAINER_CHECKS.filter((id) => level === "semantic" || id.startsWith("runtime."));
  const skip = (reason: string): Result[] => ids.map((id) => toResult(id, "skip", [reason]));
  if (!(await hasEngine(signal))) return skip("no Docker engine is available");
  if (network.mode === "allowlist")
    return skip("an allowlist cannot be enforced here: validate where the network is enforced");
  onProgress("building the image");
  await using image = await buildImage(dir, execution, signal);
  const offline = network.mode === "no-network";
  const task = { image: image.name, validation: declared.validation, signal };
  const env = { ...declared.manifest.variables, ...VARIABLES };
  onProgress("starting the container");
  await using subject = await startContainer({ ...task, env, offline });
  await using sink = await startContainer({ ...task, env: { ...env, WORKERS: "1" }, offline: false });
  onProgress("running episodes in the container");
  const { checks } = await checkServer(subject.url, checking);
  const replay = portabilityCheck({ ...work.replay, second: subject.url, made: checks });
  const own = [
    ...containmentChecks(subject.name, declared.validation, signal),
    ...(level === "semantic" ? [replay, envelopeCheck(subject.name, declared.validation, signal)] : []),
  ];
  const { checks: more } = await checker.runChecks(subject.url, own, checking.leaveOut);
  return [...[...checks, ...more].map(fromCheck).map(inContainer), await checkNetwork(subject, sink, work)];
}

function inContainer(result: Result): Result {
  return { ...result, evidence: result.evidence.map((line) => `in the container: ${line}`) };
}

async function checkNetwork(subject: Container, sink: Container, { declared, signal }: ContainerWork): Promise<Result> {
  const start = performance.now();
  const { mode } = declared.validation.network;
  const reached = await reaches(subject, sink, signal);
  const more = { measured: { declared: mode, reached }, duration_s: (performance.now() - start) / 1000 };
  if (reached === "unclear")
    return toResult(NETWORK, "skip", ["could not determine what the container can connect to"], more);
  if ((reached === "yes") === (mode === "public")) {
    return toResult(NETWORK, "pass", ["the container can connect as declared"], more);
  }
  const evidence = `the network is declared ${mode}, but the container ${reached === "yes" ? "could" : "could not"} connect to another one`;
  return toResult(NETWORK, "fail", [evidence], { ...more, remediation: "Correct validation.network." });
}
