import type { SessionOpener } from "#core/session/attachable-session.js";

/** What follows from how the clients of a durable session name it. */
export interface ResumePolicy {
  /**
   * Requests have numbers: an answer is stored with its request, until it is acknowledged. Otherwise an event is stored
   * with its answer.
   */
  readonly isNumbered: boolean;
  /** A step may have an id in its metadata. */
  readonly namesSteps: boolean;
  /**
   * The first client after the end of the session opens another one with the same key: a session that cannot be restored
   * is kept as lost until then, and nothing is kept of one that its client has ended.
   */
  readonly isReopened: boolean;
  /** Two clients may use the key by mistake: the second one waits until the first one is gone. */
  readonly isShared: boolean;
  /** What the key says about the session. */
  openerOf(key: string): Partial<SessionOpener>;
}

/** The key is the id of the session, which the server has made, and the client has a token. */
const BY_TOKEN: ResumePolicy = {
  isNumbered: true,
  namesSteps: false,
  isReopened: false,
  isShared: false,
  openerOf: (id) => ({ id }),
};

/** The client has made a name: `/session/<name>`. */
const BY_NAME: ResumePolicy = {
  isNumbered: false,
  namesSteps: true,
  isReopened: true,
  isShared: true,
  openerOf: (nameHash) => ({ nameHash }),
};

/** An address is a key whose token is the name: both are the hash of it. */
export function policyOf({ id, tokenHash }: { id: string; tokenHash: string | undefined }): ResumePolicy {
  return id === tokenHash ? BY_NAME : BY_TOKEN;
}
