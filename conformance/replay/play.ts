import { findDifferences, findOrderDifferences } from "./compare.js";
import { type Divergence, diverge } from "./divergences.js";
import type { RecordedAnswer, Recording } from "./load.js";
import { playHttp } from "./play-http.js";
import { playConnections, playSocket } from "./play-socket.js";
import { SCENARIOS } from "./scenarios.js";
import { SPECIALS } from "./specials.js";
import { OURS, Stage, type Starter } from "./stage.js";

export interface ReplayOutcome {
  /** With the recorded ids in the place of those that were made now. */
  answer: RecordedAnswer;
  /** One sentence for each difference from the recording with all divergences applied. */
  differences: string[];
  /** Divergences that are not needed for a matching answer. */
  stale: string[];
}

/** Plays one recorded case against a server of its own, by default ours, and compares the answer with the expected one. */
export async function replay(
  recording: Recording,
  divergences: readonly Divergence[],
  starter: Starter = OURS,
): Promise<ReplayOutcome> {
  const scenario = SCENARIOS[recording.case] ?? {};
  const complete = { ...recording, ...scenario.complete };
  const row = diverge(complete, divergences);
  await using stage = await Stage.openWith(starter, scenario.env ?? recording.env, scenario.options);
  await scenario.before?.(stage, row);
  const answer = await play(row, stage);
  stage.ids.learn(row, answer);
  const recorded = stage.ids.reverse(answer);
  const differences = (expected: Recording): string[] => compareRows(expected, recorded);
  const without = (one: Divergence): Recording =>
    diverge(
      complete,
      divergences.filter((other) => other !== one),
    );
  const stale = divergences.filter((one) => differences(without(one)).length === 0);
  return { answer: recorded, differences: differences(row), stale: stale.map(({ id }) => id) };
}

function play(row: Recording, stage: Stage): Promise<RecordedAnswer> {
  const special = SPECIALS[row.case];
  if (special) return special(stage, row);
  if (row.method) return playHttp(stage.ids.apply(row), stage.url);
  const place = { url: stage.url, ids: stage.ids, pauseMs: SCENARIOS[row.case]?.pause && stage.idleMs };
  return row.connections ? playConnections(row, place) : playSocket(row, place);
}

function compareRows(expected: Recording, answer: RecordedAnswer): string[] {
  if (expected.path !== "/schema") return findDifferences(expected, answer);
  // Some schemas are only recorded in part.
  const parts = Object.entries(answer.response ?? {}).filter(([part]) => part in (expected.response as object));
  const response = Object.fromEntries(parts);
  return [...findDifferences(expected, { ...answer, response }), ...findOrderDifferences(expected.response, response)];
}
