/** The user of the images that `openenv init` makes, which has no name. */
export const SERVER_USER = 1000;

/** What the Pod Security Standard `restricted` asks of a Pod: a user that is not root, and the runtime's filter of system calls. */
export function unprivileged(user: number): object {
  return { runAsNonRoot: true, runAsUser: user, runAsGroup: user, seccompProfile: { type: "RuntimeDefault" } };
}

/** What it asks of each container. */
export const WITHOUT_RIGHTS = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
