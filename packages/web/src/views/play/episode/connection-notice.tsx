import type { WebInfo } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { count, formatTime } from "../../../parts/text/format.js";
import type { Play, PlaySnapshot } from "../../../play/play.js";

interface ConnectionNoticeProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
}

/** The state of the connection, and what the visitor can do. */
export function ConnectionNotice({ info, play, shown }: ConnectionNoticeProps) {
  const { status, place, end, endedAt, nextTryAt, wasOpen, isKept } = shown.connection;
  const left = useSecondsLeft(nextTryAt);
  if (info.guarded) {
    return (
      <Notice tone="wait" bar title="This server allows reset, step and state only for its orchestrator.">
        A page cannot send its token. What the server is, and how to use it, is in About.
      </Notice>
    );
  }
  if (status === "idle") {
    return (
      <Notice tone="wait" icon="plug" bar title="Not connected." actions={<Reconnect play={play} label="Connect" />}>
        {end ? <bdi>{`The session was left: ${end.reason}. `}</bdi> : "The session was closed. "}The timeline is kept.
      </Notice>
    );
  }
  if (status === "queued") {
    return (
      <Notice
        tone="wait"
        bar
        title={wordsForFull(info.capacity.max_sessions)}
        actions={
          <Button look="sm" onClick={() => play.leave(false)}>
            Leave the queue
          </Button>
        }
      >
        You are number {place.toLocaleString("en")} in the queue. Your session starts automatically.
      </Notice>
    );
  }
  if (status !== "lost" || !end) return null;
  // Screen readers announce changes of the notice, and this changes every second.
  const next = (
    <span aria-hidden="true">{nextTryAt === undefined ? "Reconnecting now." : `Next attempt in ${left} s.`}</span>
  );
  if (end.places !== undefined) {
    return (
      <Notice
        tone="wait"
        bar
        title={wordsForFull(end.places)}
        actions={
          <>
            <Reconnect play={play} label="Try now" />
            <Button look="ghost sm" onClick={() => play.leave(false)}>
              Stop trying
            </Button>
          </>
        }
      >
        Your session starts by itself when one becomes free. {next}
      </Notice>
    );
  }
  const latest = shown.timeline.episodes.at(-1);
  return (
    <Notice
      tone="wait"
      icon="plug"
      bar
      title={wasOpen ? "Connection lost." : "No connection."}
      actions={<Reconnect play={play} label="Reconnect now" />}
    >
      {wasOpen ? `At ${formatTime(endedAt)} ` : ""}
      <bdi>{end.reason}</bdi>
      {wasOpen ? ". " : " "}
      {latest?.status === "cut off"
        ? `Episode ${latest.number} ended there, its ${count(latest.steps, "step")} ${latest.steps === 1 ? "is" : "are"} kept. `
        : ""}
      {isKept ? "The server keeps the session, and the episode continues." : "A new connection is a new session."}{" "}
      {next}
    </Notice>
  );
}

function wordsForFull(places: number): string {
  return places === 1 ? "The only session is in use." : `All ${places.toLocaleString("en")} sessions are in use.`;
}

function Reconnect({ play, label }: { play: Play; label: string }) {
  return (
    <Button look="sm" onClick={() => play.reconnect()}>
      {label}
    </Button>
  );
}

function useSecondsLeft(until: number | undefined): number {
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (until === undefined) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [until]);
  return until === undefined ? 0 : Math.max(1, Math.ceil((until - (now || until - 1000)) / 1000));
}
