import { OpenEnvError } from "openenv-ts/client";
import { ConfigError, loadReplay } from "openenv-ts/internal";
import type { EpisodeRecord, JsonObject } from "openenv-ts/protocol";
import { readEpisodes } from "../collect/episode-file.js";
import { serverToken, sessionToken } from "../server-token.js";
import { comparable, type ReplayEvent } from "./replay-episode.js";

type Replay = Awaited<ReturnType<typeof loadReplay>>;
type SessionEvent = NonNullable<Parameters<Replay["connectUntyped"]>[1]>[number];

/** An event of a session; what came from outside is known only to operators. */
type StoredEvent = Omit<SessionEvent, "recorded"> & Partial<Pick<SessionEvent, "recorded">>;

/** An episode to play again. */
export interface Recording {
  /** Where it is, such as `episodes.jsonl:4`. */
  where: string;
  /** What it is called in the result. */
  key: { line: number; episode: number } | { session: string };
  /** The name of its environment, where it is recorded. */
  environment?: string;
  events: ReplayEvent[];
  /** The events with what the environment got from outside, where that is recorded. */
  repeats?: SessionEvent[];
  /** Why it cannot be played again. */
  reason?: string | undefined;
}

/** Reads a file of episodes, a journal, or a session of a server. @throws ConfigError */
export async function* readRecordings(source: string, session: string | undefined): AsyncGenerator<Recording> {
  try {
    if (/^(https?|wss?):\/\//.test(source)) {
      yield await readSession(source, session);
      return;
    }
    const { isJournal, readJournal } = await loadReplay();
    if (await isJournal(source)) {
      let found = false;
      for await (const stored of await readJournal(source)) {
        if (session !== undefined && stored.id !== session) continue;
        found = true;
        yield ofSession(stored);
      }
      if (!found && session !== undefined) throw new ConfigError(`The journal has no session ${session}.`);
      return;
    }
  } catch (error) {
    if (!(error instanceof OpenEnvError) || error instanceof ConfigError) throw error;
    throw new ConfigError(error.message, { cause: error });
  }
  if (session !== undefined) throw new ConfigError("--session names a session of a server or of a journal.");
  for (const { line, record } of readEpisodes(source)) yield ofEpisode(source, line, record);
}

async function readSession(url: string, id: string | undefined): Promise<Recording> {
  if (id === undefined) throw new ConfigError(`Name a session of ${url} with --session.`);
  const { fetchEvents } = await loadReplay();
  const events = await fetchEvents(url, id, { token: serverToken(), sessionToken: sessionToken() });
  return ofSession({ id, events: events as unknown as StoredEvent[] });
}

/** The events for a server, which does not know the recorded ones: a reset without a seed got a random one. */
export function withSeeds({ events, repeats = [] }: Recording): ReplayEvent[] {
  return events.map((event, index) => {
    const seed = repeats[index]?.recorded.seed;
    if (event.kind !== "reset" || seed === undefined) return event;
    return { ...event, request: { ...event.request, seed: event.request["seed"] ?? seed } };
  });
}

function ofEpisode(file: string, line: number, record: EpisodeRecord): Recording {
  const { environment, episode, steps, failures = [] } = record;
  const recording = { where: `${file}:${line}`, key: { line, episode }, environment, events: [...eventsOf(record)] };
  const isUnbegun = steps.length === 0 && failures.some(({ kind }) => kind === "reset");
  return isUnbegun ? { ...recording, reason: "its reset failed" } : recording;
}

function* eventsOf({ reset, start, steps, failures = [] }: EpisodeRecord): Generator<ReplayEvent> {
  // The id of an episode is unique, and the replay is a new episode.
  const { episode_id: _, ...request } = reset;
  let event = 1;
  yield { event, kind: "reset", request, answer: comparable({ ...start }) };
  for (let taken = 0; taken <= steps.length; taken++) {
    for (const { after, kind, code, action } of failures) {
      // Requests that failed in other ways did not reach the environment, or ended the session.
      if (kind !== "step" || after !== taken || code !== "EXECUTION_ERROR") continue;
      yield { event: ++event, kind, request: action, answer: { error: code } };
    }
    const step = steps[taken];
    if (step !== undefined) {
      yield { event: ++event, kind: "step", request: step.action, answer: comparable({ ...step }) };
    }
  }
}

function ofSession(session: { id: string } & ({ events: StoredEvent[] } | { reason: string })): Recording {
  const recording = { where: `session ${session.id}`, key: { session: session.id } };
  if ("reason" in session) return { ...recording, events: [], reason: session.reason };
  const events: StoredEvent[] = session.events;
  if (events.length === 0) return { ...recording, events: [], reason: "it has had no event" };
  const repeats = events.filter((event): event is SessionEvent => event.recorded !== undefined);
  const played = { ...recording, events: events.map(toReplayEvent) };
  return repeats.length === events.length ? { ...played, repeats } : played;
}

function toReplayEvent({ event, type: kind, request, answer }: StoredEvent): ReplayEvent {
  return { event, kind, request, answer: toAnswer(answer) };
}

function toAnswer(answer: SessionEvent["answer"]): JsonObject {
  if (!("type" in answer)) {
    const { result, error } = answer;
    return error === null ? { error, result: result?.data } : { error: error.error_type };
  }
  return answer.type === "error" ? { error: answer.data.code } : comparable(answer.data as JsonObject);
}
