/** User id of the images from `openenv init`; it has no user name. */
export const SERVER_USER = 1000;

/**
 * What the Pod Security Standard `restricted` requires of a Pod: a user that is not root, and the seccomp profile of
 * the runtime.
 */
export function unprivileged(user: number): object {
  return { runAsNonRoot: true, runAsUser: user, runAsGroup: user, seccompProfile: { type: "RuntimeDefault" } };
}

/** What it requires of each container. */
export const WITHOUT_RIGHTS = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

/** The same, for an image whose program writes to volumes alone. */
export const READ_ONLY = { ...WITHOUT_RIGHTS, readOnlyRootFilesystem: true };
