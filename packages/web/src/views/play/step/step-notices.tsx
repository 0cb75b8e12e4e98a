import type { WebInfo } from "openenv-ts/protocol";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { CopyButton } from "../../../parts/text/copy-button.js";
import { count, formatReward } from "../../../parts/text/format.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";
import { needsReset, type TimelineStep, wasLastOfSession } from "../../../play/timeline.js";

interface FailureNoticeProps extends DoneNoticeProps {
  info: WebInfo;
}

interface DoneNoticeProps {
  play: Play;
  shown: PlaySnapshot;
  step: TimelineStep;
}

/** Codes after which the session is gone; a `TIMEOUT` may keep it. */
const ENDED: readonly string[] = ["ISOLATE_LOST", "SESSION_ERROR", "SESSION_LOST", "ABORTED"];

/** Describes the failure, its effect, and what the visitor can do. A failure is never shown as a reward of 0. */
export function FailureNotice({ info, play, shown, step }: FailureNoticeProps) {
  const { failure, kind, action, exchange } = step;
  if (!failure) return null;
  const free = isFree(shown);
  const ended = ENDED.includes(failure.code) || wasLastOfSession(play.shown(), step);
  const canRepeat = free && (kind === "reset" || !needsReset(shown.timeline, info));
  const issues = failure.issues.map(
    ({ loc, msg }) => `${loc.join(".") || (kind === "reset" ? "options" : "action")}: ${msg}`,
  );
  // The message repeats the first issue.
  const text = issues.length > 0 ? issues.join("; ") : failure.message;
  return (
    <div className="block">
      <Notice
        tone="bad"
        title={titleOf(failure.code, kind)}
        actions={
          <>
            <Button
              look="sm"
              free={canRepeat}
              onClick={() => void (kind === "reset" ? play.reset(action) : play.send(action))}
            >
              Send again
            </Button>
            {kind === "step" ? (
              <Button look="sm" free={free} onClick={() => void play.reset({})}>
                Reset
              </Button>
            ) : null}
            {exchange ? (
              <CopyButton
                what="report"
                text={() => JSON.stringify({ sent: exchange.sent, received: exchange.received }, null, 2)}
              />
            ) : null}
          </>
        }
      >
        <bdi>{text.replace(/\.$/, "")}</bdi>.{" "}
        {ended ? "The session has ended. " : kind === "step" ? "The session continues. " : ""}
        {kind === "step" ? "The step has no reward." : "No new episode was started."}
      </Notice>
    </div>
  );
}

function titleOf(code: string, kind: "reset" | "step"): string {
  if (code === "VALIDATION_ERROR")
    return kind === "reset" ? "The reset options are not valid" : "The action is not valid";
  if (code === "TIMEOUT") return "The environment took too long";
  if (code === "ABORTED") return `This ${kind} was canceled`;
  if (code === "SESSION_LOST") return `The connection was lost during this ${kind}`;
  if (code === "ISOLATE_LOST") return `The environment's process ended during this ${kind}`;
  if (code === "FORBIDDEN") return "This server allows reset, step and state only for its orchestrator";
  return kind === "reset" ? "The environment failed during this reset" : "The environment failed during this step";
}

/** The episode is done: offers the next one. */
export function DoneNotice({ play, shown, step }: DoneNoticeProps) {
  const episode = shown.timeline.episodes[step.episode];
  if (!episode || episode.index !== shown.timeline.episodes.length - 1) return null;
  const free = isFree(shown);
  const { episode_id: _, ...again } = episode.reset;
  return (
    <div className="block">
      <Notice
        tone="ok"
        title={`Done after ${count(episode.steps, "step")}`}
        actions={
          <>
            <Button look="primary sm" free={free} onClick={() => void play.reset({})}>
              Reset<kbd>R</kbd>
            </Button>
            {Object.keys(again).length > 0 ? (
              <Button look="sm" free={free} onClick={() => void play.reset(again)}>
                Same options again
              </Button>
            ) : null}
          </>
        }
      >
        Total reward {formatReward(episode.total)}.
      </Notice>
    </div>
  );
}
