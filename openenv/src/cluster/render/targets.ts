/** What `openenv deploy render` renders for. */
export const TARGETS = ["compose", "swarm", "kubernetes", "slurm", "envoy", "haproxy", "nginx", "monitoring"] as const;
export type Target = (typeof TARGETS)[number];

/** Text files by name, the one to begin with first. */
export type RenderedFiles = Record<string, string>;
