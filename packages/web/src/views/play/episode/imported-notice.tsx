import type { WebInfo } from "openenv-ts/protocol";
import { Button } from "../../../parts/button.js";
import { Notice } from "../../../parts/notice.js";
import { count } from "../../../parts/text/format.js";
import type { Play, PlaySnapshot } from "../../../play/play.js";
import type { TimelineFiles } from "./use-files.js";

interface ImportedNoticeProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
  files: TimelineFiles;
  replaying: boolean;
  onReplay(): void;
}

/** Maximum length of the names of other environments, in characters. */
const LENGTH = 200;

/** Shown for an imported timeline, or for a file that could not be read. */
export function ImportedNotice({ info, play, shown, files, replaying, onReplay }: ImportedNoticeProps) {
  const { imported } = shown;
  const others = imported?.environments.filter((name) => name !== info.name) ?? [];
  return (
    <>
      {files.problem ? (
        <Notice
          tone="bad"
          bar
          title="The file could not be read."
          actions={
            <Button look="ghost sm" onClick={files.forget}>
              Close
            </Button>
          }
        >
          {files.problem}
        </Notice>
      ) : null}
      {imported ? (
        <Notice
          tone={others.length > 0 ? "wait" : "info"}
          icon="open"
          bar
          title={imported.name}
          actions={
            <>
              {replaying ? null : (
                <Button look="sm" onClick={onReplay}>
                  Replay
                </Button>
              )}
              <Button look="ghost sm" onClick={() => play.show(undefined)}>
                Back to the session
              </Button>
            </>
          }
        >
          Read-only: {count(imported.timeline.episodes.length, "episode")},{" "}
          {count(
            imported.timeline.episodes.reduce((sum, { steps, stepsAfter }) => sum + steps + stepsAfter, 0),
            "step",
          )}
          .
          {others.length > 0 ? (
            <>
              {" "}
              Recorded with <bdi>{others.join(", ").slice(0, LENGTH)}</bdi>, this is <bdi>{info.name}</bdi>.
            </>
          ) : null}
        </Notice>
      ) : null}
    </>
  );
}
