/** What `openenv deploy render` renders for. */
export const TARGETS = ["compose", "swarm", "kubernetes", "slurm", "envoy", "haproxy", "nginx", "monitoring"] as const;
export type Target = (typeof TARGETS)[number];
