/** The balancers; each is also a separate target. */
export const BALANCERS = ["envoy", "haproxy"] as const;
export type BalancerKind = (typeof BALANCERS)[number];

/** The targets of `openenv deploy render`. */
export const TARGETS = ["compose", "swarm", "kubernetes", "slurm", ...BALANCERS, "monitoring"] as const;
export type DeployTarget = (typeof TARGETS)[number];

export function isBalancer(target: DeployTarget): target is BalancerKind {
  return (BALANCERS as readonly string[]).includes(target);
}

/** Text files by path, the main file first. Files in a folder are for other programs than the target's own tool. */
export type RenderedFiles = Record<string, string>;

/** The files that the tool of a target reads from standard input: the main file, in Kubernetes all manifests. */
export function pipedFiles(target: DeployTarget, files: RenderedFiles): string[] {
  const names = Object.keys(files);
  return target === "kubernetes" ? names.filter((name) => !name.includes("/")) : names.slice(0, 1);
}
