import type { JsonObject, ServerMessage } from "#core/protocol/messages.js";
import type { AddressPeer, Answer, SessionCallOptions } from "#core/session/calls/call.js";
import type { PeerRequest } from "#core/session/calls/peer-request.js";
import { errorMessage, invalidMessage, renderReply } from "#core/session/messages/message-codec.js";
import type { Frame, Withheld } from "#core/session/registry/session-keeper.js";
import type { SessionHooks } from "#core/session/restore/session-hooks.js";
import type { Session } from "#core/session/session.js";
import { after } from "#core/util/async/after.js";
import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import { digestRequest, REQUEST_ID, requestIdOf } from "./request-digest.js";
import { policyOf, type ResumePolicy } from "./resume-policy.js";
import type { SessionJournal } from "./session-journal.js";
import { stepCrashed } from "./step-crashed.js";
import type { StoredAnswers } from "./stored-answers.js";

const MAX_ID_LENGTH = 256;
/** The key of an answer that could not be sent; an id of a client has at least one character and no NUL. */
const UNSENT = "\0retry";

/**
 * Executes each request of a session once: a request with an id that is repeated gets its stored answer, and one that has
 * ended two processes is refused. Requests with a number are admitted with their frame, before they come here.
 */
export class Ledger implements SessionHooks {
  readonly answers: StoredAnswers;
  record?: NonNullable<SessionHooks["record"]>;
  chooseSteps?: NonNullable<SessionHooks["chooseSteps"]>;
  #journal: SessionJournal | undefined;
  readonly #session: Session;
  readonly #policy: ResumePolicy;
  /** The peer that waits for the answer to the last step without an id. */
  #waiting: AddressPeer | undefined;

  constructor(session: Session, answers: StoredAnswers) {
    this.#session = session;
    this.answers = answers;
    this.#policy = policyOf({ id: session.key, tokenHash: session.nameHash });
  }

  around(request: PeerRequest, options: SessionCallOptions): Eventual<Answer> {
    return options.numbered === true ? this.#session.perform(request, options) : this.#admit(request, options);
  }

  #admit(request: PeerRequest, options: SessionCallOptions): Eventual<Answer> {
    const { type } = request;
    const { peer } = options;
    if (type !== "step") this.#drop();
    // Ids may be used again in the next episode.
    if (type === "reset" && peer?.isSerial) this.answers.clear();
    const id =
      options.requestId ?? (type === "step" && this.#policy.namesSteps ? requestIdOf(request.data) : undefined);
    if (type === "step" && peer?.isSerial) this.#freeOlder(id, peer);
    const run = (): Eventual<Answer> => this.#execute(request, options);
    if (id !== undefined) return this.#answerOnce(id, request, run);
    return type === "step" && peer?.retries ? this.#retry(digestRequest(request), peer, run) : run();
  }

  /** Stores the events of the session from now on. */
  storeIn(journal: SessionJournal): void {
    this.#journal = journal;
    this.record = (event, { options }) => journal.record(event, this.#session, options);
    this.chooseSteps = () => journal.chooseSteps();
  }

  /** Continues with the answer that the process before this one could not send. */
  restoreUnsent({ digest, answer }: { digest: string; answer: string }): void {
    this.answers.restore(UNSENT, digest, answer);
  }

  #execute(request: PeerRequest, options: SessionCallOptions): Eventual<Answer> {
    const session = this.#session;
    if (this.#journal === undefined || request.type === "state") return session.perform(request, options);
    return after(
      this.#journal.first.enter(() => digestRequest(named(request))),
      (isCrashed) => (isCrashed ? stepCrashed(request.type) : session.perform(request, options)),
    );
  }

  #answerOnce(id: unknown, request: PeerRequest, run: () => Eventual<Answer>): Eventual<Answer> {
    if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH) {
      const msg = `must be a string of 1 to ${MAX_ID_LENGTH} characters`;
      return invalidMessage([{ type: "value_error", loc: ["data", "metadata", REQUEST_ID], msg, input: null }]);
    }
    const stored = this.answers.admitNamed(id, digestRequest(named(request)));
    if (stored === undefined) return this.#keep(run(), (text) => this.answers.store(id, text));
    if (typeof stored === "object" && "code" in stored) return errorMessage(stored.code, stored.message);
    return after(stored, read);
  }

  /** Renders an answer as it is now: the environment may change its values later. */
  #keep(answer: Eventual<Answer>, store: (text: Eventual<string>) => void): Eventual<Answer> {
    store(after(answer, (value) => renderReply(value, this.#session.runtime.maxAnswerBytes)));
    return answer;
  }

  #freeOlder(id: unknown, { retries, answered }: AddressPeer): void {
    const isRepeat = typeof id === "string" && this.answers.has(id);
    if (!isRepeat && (answered || !retries)) this.answers.freeComplete();
  }

  /**
   * Answers a step without an id of a client that retries by itself. While a client waits for a step, an equal one is
   * another step. An answer that is known at once is written at once.
   */
  #retry(digest: string, peer: AddressPeer, run: () => Eventual<Answer>): Eventual<Answer> {
    const last = this.answers.find(UNSENT);
    const isRepeat = !peer.answered && (this.#waiting?.ended ?? true) && last?.request === digest;
    this.#waiting = peer;
    if (isRepeat && last?.answer !== undefined) {
      return after(last.answer, (text) => {
        this.#settle(peer, String(text));
        return read(text);
      });
    }
    this.#drop();
    const answer = run();
    if (!isThenable(answer)) return answer;
    return this.#keep(answer, (text) => {
      this.answers.restore(UNSENT, digest, text);
      void Promise.resolve(text).then((late) => this.#settle(peer, late));
    });
  }

  /** The answer is ready: it is written now, or kept because its connection has ended. */
  #settle(peer: AddressPeer, text: string): void {
    // Another request has come meanwhile.
    if (this.#waiting !== peer) return;
    const last = this.answers.find(UNSENT);
    if (last === undefined) return;
    if (peer.ended) this.#journal?.keepUnsent(String(last.request), text);
    else this.#drop();
  }

  #drop(): void {
    this.answers.drop(UNSENT);
    this.#journal?.dropUnsent();
  }
}

/** The request as its peer sent it. */
function named(request: PeerRequest): { type: string; data?: JsonObject } {
  if (request.type !== "tool") return request;
  const { tool, given } = request;
  return { type: "tool", data: { name: tool.name, given } };
}

/** An answer with an id is never withheld. */
function read(text: Frame | Withheld): ServerMessage {
  return JSON.parse(String(text)) as ServerMessage;
}
