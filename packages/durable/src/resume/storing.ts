import type { BinaryCodec } from "#core/protocol/codec/binary.js";
import type { SessionOpener } from "#core/session/attachable-session.js";
import type { Batch } from "#core/session/batch.js";
import type { SessionImage } from "#core/session/calls/session-event.js";
import { openFrom } from "#core/session/copies/open-from.js";
import type { Sessions } from "#core/session/registry/sessions.js";
import { Session } from "#core/session/session.js";
import type { Eventual } from "#core/util/types.js";
import type { Journal, JournalRecord } from "../journals/journal.js";
import type { DurableSession } from "../session/durable-session.js";
import type { DurableSessions } from "../session/durable-sessions.js";
import { readImage, readOpener, STEPS } from "../session/journal-cells.js";
import { policyOf } from "../session/resume-policy.js";
import type { JournalParts, SessionJournal } from "../session/session-journal.js";

export interface StoringParts {
  durable: DurableSessions;
  journal: Journal;
  codec: BinaryCodec;
  suspects: JournalParts["suspects"];
}

/** Stores a session, or those of a batch, from now on, in the journal that `make` returns. */
export function storeIn(
  { durable, journal, codec, suspects }: StoringParts,
  durableSession: DurableSession,
  make: (parts: JournalParts) => SessionJournal,
): SessionJournal {
  const { policy, target } = durableSession;
  const onLost = (reason: string): void => durable.giveUp(durableSession, reason);
  const onCommit = target instanceof Session ? target.events.plugins?.committed : undefined;
  const own = make({ journal, codec, policy, onLost, onCommit, suspects });
  durableSession.journal = own;
  if (target instanceof Session) {
    target.events.keepIfNeeded();
    durable.ledgerOf(target).storeIn(own);
  } else storeBatchIn(own, target);
  return own;
}

function storeBatchIn(own: SessionJournal, batch: Batch): void {
  const follow = (session: Session, prefix: string): void => {
    session.events.keepIfNeeded();
    session.events.hooks = {
      record: (event, { options }) => own.record(event, session, options, prefix),
      chooseSteps: () => own.chooseSteps(),
    };
  };
  for (const number of batch.numbers) follow(batch.get(number) as Session, `${number}.`);
  batch.watch({
    opened: (number, session) => {
      follow(session, `${number}.`);
      if (session.events.last === 0) own.opened(`${number}.`, session);
      else own.copiedInBatch(`${number}.`, session);
    },
    ended: (number) => own.ended(`${number}.`),
  });
}

/** Opens a session as another process has stored it. @throws SessionRejectedError */
export async function openStored(
  { durable: { sessions }, codec }: StoringParts,
  record: JournalRecord,
  opener: SessionOpener,
): Promise<Session> {
  const session = await openImage(sessions, readImage(record, codec), {
    ...opener,
    ...policyOf(record).openerOf(record.id),
    ...readOpener(record),
    isRestored: true,
  });
  session.progress.callsAreSteps ||= record.cells.has(STEPS);
  // Agents name it.
  if (session.progress.callsAreSteps) sessions.named.add(session);
  return session;
}

/** Opens a session that continues from an image; without one it has had no event. @throws SessionRejectedError */
export function openImage(
  sessions: Sessions,
  image: SessionImage | undefined,
  opener: SessionOpener,
): Eventual<Session> {
  return image === undefined ? sessions.open(undefined, opener) : openFrom(sessions, image, opener);
}
