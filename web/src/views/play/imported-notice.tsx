import { count } from "../../parts/format.js";
import { Notice } from "../../parts/notice.js";
import type { Play, PlaySnapshot } from "../../play/play.js";
import type { Files } from "./use-files.js";

interface ImportedNoticeProps {
  play: Play;
  shown: PlaySnapshot;
  files: Files;
  replaying: boolean;
  onReplay(): void;
}

/** The timeline on the screen is that of a file, or a file could not be read. */
export function ImportedNotice({ play, shown, files, replaying, onReplay }: ImportedNoticeProps) {
  const { imported } = shown;
  return (
    <>
      {files.problem ? (
        <Notice
          tone="bad"
          bar
          title="The file could not be read."
          actions={
            <button type="button" className="btn btn--ghost btn--sm" onClick={files.forget}>
              Close
            </button>
          }
        >
          {files.problem}
        </Notice>
      ) : null}
      {imported ? (
        <Notice
          tone="info"
          icon="open"
          bar
          title={imported.name}
          actions={
            <>
              {replaying ? null : (
                <button type="button" className="btn btn--sm" onClick={onReplay}>
                  Replay
                </button>
              )}
              <button type="button" className="btn btn--ghost btn--sm" onClick={() => play.show(undefined)}>
                Back to the session
              </button>
            </>
          }
        >
          Read-only: {count(imported.timeline.episodes.length, "episode")},{" "}
          {count(imported.timeline.steps.length - imported.timeline.episodes.length, "step")}.
        </Notice>
      ) : null}
    </>
  );
}
