import { readFileSync } from "node:fs";
import type { Divergence } from "../replay/divergences.js";
import { type ClientRecording, listTranscripts, type Recording } from "../replay/load.js";
import { replay } from "../replay/play.js";
import { playClient } from "./play-client.js";
import { PythonServers } from "./python-servers.js";
import { renderRow } from "./render-row.js";

/** A line of a transcript, recorded again. */
export interface RecordedLine {
  /** Path of the transcript. */
  file: string;
  case: string;
  /** The committed line itself when nothing normative differs. */
  line: string;
  /** Sentences about what differs from the committed line. */
  differences: string[];
}

/** Most of the time is waiting: for idle sessions to end, for slow steps, for servers to start. */
const AT_ONCE = 12;

const TIMES = { source: "", reference: "", ours: "", why: "", expect: { "**.timestamp": "<string>" } };
/** Answers with the time of day in them. */
const GENERATED: Readonly<Record<string, Divergence>> = { "web/ws-ui": { id: "times", ...TIMES } };

/** Plays the named cases of all transcripts with this Python, all cases without names; each has a server of its own. */
export async function record(python: string, names: readonly string[] = []): Promise<RecordedLine[]> {
  await using servers = new PythonServers(python);
  const lines = listTranscripts().flatMap(readLines);
  const unknown = names.filter((name) => !lines.some((line) => line.case === name));
  if (unknown.length > 0) throw new Error(`No transcript has a case ${unknown.join(", ")}.`);
  const waiting = lines.filter((line) => names.length === 0 || names.includes(line.case));
  const work = async (): Promise<void> => {
    for (let line = waiting.shift(); line; line = waiting.shift())
      Object.assign(line, await recordLine(line).catch(asDifference));
  };
  const asDifference = (error: Error): Pick<RecordedLine, "differences"> => {
    if (servers.ended) throw error;
    return { differences: [`cannot be played: ${error.message}`] };
  };
  const recordLine = async ({ line }: RecordedLine): Promise<Pick<RecordedLine, "line" | "differences">> => {
    const row = JSON.parse(line) as Recording | ClientRecording;
    const generated = GENERATED[row.case];
    const { answer, differences } =
      "client_results" in row
        ? await playClient(row as ClientRecording, servers)
        : await replay(row as Recording, generated ? [generated] : [], servers);
    return { line: differences.length > 0 ? renderRow(line, answer) : line, differences };
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return lines;
}

function readLines(file: string): RecordedLine[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => ({ file, line, case: (JSON.parse(line) as Recording).case, differences: [] }));
}
