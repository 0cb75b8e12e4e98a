/** The query parameters that the published OpenAPI of Kubernetes 1.37 has for what a client asks; others are a mistake. */
const PARAMETERS = {
  list: [
    "pretty",
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
  ],
  read: ["pretty"],
  log: [
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "pretty",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
  ],
  create: ["pretty", "dryRun", "fieldManager", "fieldValidation"],
  delete: [
    "pretty",
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
  ],
} as const;

export type Verb = keyof typeof PARAMETERS;

const WHOLE = ["limit", "timeoutSeconds", "limitBytes", "sinceSeconds", "tailLines", "gracePeriodSeconds"];
const POLICIES = ["Background", "Foreground", "Orphan"];

/** What is wrong with the parameters of a request; nothing when all is well. */
export function findFault(verb: Verb, given: URLSearchParams): string | undefined {
  for (const [name, value] of given) {
    if (!(PARAMETERS[verb] as readonly string[]).includes(name)) return `${verb} has no parameter ${name}`;
    if (WHOLE.includes(name) && !/^\d+$/.test(value)) return `${name} is ${value}, which is no whole number`;
    if (name === "propagationPolicy" && !POLICIES.includes(value)) return `${name} is ${value}`;
  }
  return undefined;
}
