/** The balancers; each is also a separate target. */
export const BALANCERS = ["envoy", "haproxy"] as const;
export type BalancerKind = (typeof BALANCERS)[number];

/** The targets of `openenv deploy render`. */
export const TARGETS = ["compose", "swarm", "kubernetes", "slurm", ...BALANCERS, "monitoring"] as const;
export type DeployTarget = (typeof TARGETS)[number];

export function isBalancer(target: DeployTarget): target is BalancerKind {
  return (BALANCERS as readonly string[]).includes(target);
}

/** Text files by name, the main file first. */
export type RenderedFiles = Record<string, string>;
