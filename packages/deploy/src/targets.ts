/** What stands before the servers; each is also a target of its own. */
export const BALANCERS = ["envoy", "haproxy"] as const;
export type BalancerKind = (typeof BALANCERS)[number];

/** What `openenv deploy render` renders for. */
export const TARGETS = ["compose", "swarm", "kubernetes", "slurm", ...BALANCERS, "monitoring"] as const;
export type DeployTarget = (typeof TARGETS)[number];

export function isBalancer(target: DeployTarget): target is BalancerKind {
  return (BALANCERS as readonly string[]).includes(target);
}

/** Text files by name, the one to begin with first. */
export type RenderedFiles = Record<string, string>;
