import type { BalancerKind, RenderedFiles } from "../targets.js";
import type { Topology } from "../topology.js";
import { ENVOY_CONFIG, ENVOY_START, renderEnvoyStart } from "./envoy-start.js";

/** A configuration file of a balancer, and its path in the container. */
interface BalancerFile {
  file: string;
  target: string;
  text: string;
}

export function balancerFiles(kind: BalancerKind, balancer: Topology["balancer"], config: string): BalancerFile[] {
  if (kind === "haproxy") return [{ file: "haproxy.cfg", target: "/usr/local/etc/haproxy/haproxy.cfg", text: config }];
  return [
    { file: "envoy.yaml", target: ENVOY_CONFIG, text: config },
    { file: "envoy.sh", target: ENVOY_START, text: renderEnvoyStart(balancer) },
  ];
}

/** The command of the container. Envoy starts by a script that lets requests finish. */
export function balancerEntrypoint(kind: BalancerKind): object {
  return kind === "envoy" ? { entrypoint: ["bash", ENVOY_START] } : {};
}

/** The files to write. */
export function textsOf(files: readonly BalancerFile[]): RenderedFiles {
  return Object.fromEntries(files.map(({ file, text }) => [file, text]));
}
