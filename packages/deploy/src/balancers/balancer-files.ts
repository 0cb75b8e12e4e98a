import type { BalancerKind, RenderedFiles } from "../targets.js";
import { ENVOY_CONFIG, ENVOY_START, renderEnvoyStart } from "./envoy-start.js";

/** A file that a balancer's container reads, and its place there. */
interface BalancerFile {
  file: string;
  target: string;
  text: string;
}

export function balancerFiles(kind: BalancerKind, config: string): BalancerFile[] {
  if (kind === "haproxy") return [{ file: "haproxy.cfg", target: "/usr/local/etc/haproxy/haproxy.cfg", text: config }];
  return [
    { file: "envoy.yaml", target: ENVOY_CONFIG, text: config },
    { file: "envoy.sh", target: ENVOY_START, text: renderEnvoyStart() },
  ];
}

/** How the container starts: Envoy by a script that lets requests finish. */
export function balancerEntrypoint(kind: BalancerKind): object {
  return kind === "envoy" ? { entrypoint: ["bash", ENVOY_START] } : {};
}

/** As they are written. */
export function textsOf(files: readonly BalancerFile[]): RenderedFiles {
  return Object.fromEntries(files.map(({ file, text }) => [file, text]));
}
