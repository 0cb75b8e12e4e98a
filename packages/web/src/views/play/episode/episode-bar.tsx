import type { WebInfo } from "openenv-ts/protocol";
import { useState } from "react";
import { Button } from "../../../parts/button.js";
import { Icon } from "../../../parts/icon.js";
import { Menu } from "../../../parts/menu.js";
import { CopyButton } from "../../../parts/text/copy-button.js";
import { formatReward, inWords } from "../../../parts/text/format.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";
import type { TimelineEpisode } from "../../../play/timeline.js";
import { ResetOptions } from "./reset-options.js";
import type { TimelineFiles } from "./use-files.js";

interface EpisodeBarProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
  files: TimelineFiles;
}

/** The reset button, and the facts of the episode. */
export function EpisodeBar({ info, play, shown, files }: EpisodeBarProps) {
  const [options, setOptions] = useState(false);
  const timeline = play.shown();
  const selected = timeline.steps[shown.selected];
  const episode = shown.imported && selected ? timeline.episodes[selected.episode] : timeline.episodes.at(-1);
  const free = isFree(shown);
  const hasSteps = shown.timeline.steps.length > 0;
  const canFork = hasSteps && !shown.imported;
  const { origin } = shown;
  const done = episode?.status === "done" && !shown.imported;
  return (
    <section className="episode" aria-label="Episode">
      <div className="split">
        <Button look={done ? "primary" : ""} free={free} onClick={() => void play.reset({})}>
          <Icon name="again" />
          Reset<kbd>R</kbd>
        </Button>
        <div className="pop">
          <Button
            id="reset-options"
            aria-label="Reset options"
            title="Reset options (Shift R)"
            aria-expanded={options}
            onClick={() => setOptions(!options)}
          >
            <Icon name="down" />
          </Button>
        </div>
        {options ? <ResetOptions info={info} play={play} free={free} onClose={() => setOptions(false)} /> : null}
      </div>
      {canFork ? <ForkButton play={play} className="hide-md" free={free} problem={info.fork_problem} /> : null}
      <StatusBadge episode={episode} />
      {origin && !shown.imported && episode?.index === origin.index ? (
        <span className="badge" title={origin.episode}>
          <Icon name="fork" />
          <span>
            Fork of episode <bdi className="mono">{origin.episode.slice(0, 8)}</bdi>, step {origin.step}
          </span>
        </span>
      ) : null}
      {episode ? <Facts episode={episode} hasTasks={info.tasks} /> : null}
      <span className="grow" />
      <Menu label="More: import, export, fork" className="only-md">
        {canFork ? <ForkButton play={play} look="ghost" free={free} problem={info.fork_problem} /> : null}
        <FileButtons files={files} hasSteps={hasSteps} />
      </Menu>
      <div className="files hide-md">
        <FileButtons files={files} hasSteps={hasSteps} />
      </div>
    </section>
  );
}

interface ForkButtonProps {
  play: Play;
  free: boolean;
  /** Why the session cannot be copied. */
  problem: string | null;
  look?: string;
  className?: string;
}

function ForkButton({ play, free, problem, ...look }: ForkButtonProps) {
  const title = problem === null ? "Open a copy of the session in a new tab" : `No session can be copied: ${problem}`;
  return (
    <Button {...look} free={free && problem === null} title={title} onClick={() => void play.fork()}>
      <Icon name="fork" />
      Fork
    </Button>
  );
}

function FileButtons({ files, hasSteps }: { files: TimelineFiles; hasSteps: boolean }) {
  return (
    <>
      <Button look="ghost" onClick={files.choose}>
        <Icon name="open" />
        Import
      </Button>
      <Button
        look="ghost"
        free={hasSteps}
        title={hasSteps ? undefined : "There is nothing to export yet"}
        onClick={files.save}
      >
        <Icon name="save" />
        Export
      </Button>
    </>
  );
}

function Facts({ episode, hasTasks }: { episode: TimelineEpisode; hasTasks: boolean }) {
  const { id, reset, steps, total } = episode;
  const { seed, split, index } = reset;
  return (
    <dl className="facts">
      {id === null ? null : (
        <div className="hide-sm">
          <dt>Episode</dt>
          <dd>
            <span className="mono" title={id}>
              {id.slice(0, 8)}
            </span>
            <CopyButton what="episode id" text={() => id} />
          </dd>
        </div>
      )}
      <div>
        <dt>Seed</dt>
        <dd>{seed === undefined ? "none" : inWords(seed)}</dd>
      </div>
      {hasTasks ? (
        <div>
          <dt>Task</dt>
          <dd>
            {split === undefined ? (
              "none"
            ) : (
              <span>
                <bdi>{inWords(split)}</bdi> / <bdi>{inWords(index ?? "any")}</bdi>
              </span>
            )}
          </dd>
        </div>
      ) : null}
      <div>
        <dt>Steps</dt>
        <dd>
          <strong>{steps.toLocaleString("en")}</strong>
        </dd>
      </div>
      <div>
        <dt>Total reward</dt>
        <dd>
          <strong>{formatReward(total)}</strong>
        </dd>
      </div>
    </dl>
  );
}

/** The status of an episode as a badge. */
export function StatusBadge({ episode }: { episode: TimelineEpisode | undefined }) {
  switch (episode?.status) {
    case undefined:
      return <span className="badge">Not started</span>;
    case "in progress":
      return <span className="badge badge--live">In progress</span>;
    case "done":
      // The meaning of a reward is the author's, but no episode that lost shows a green tick.
      if (!((episode.total ?? 0) > 0)) return <span className="badge">Done</span>;
      return (
        <span className="badge badge--ok">
          <Icon name="check" />
          Done
        </span>
      );
    case "stopped":
      return <span className="badge">Stopped</span>;
    case "cut off":
      return <span className="badge badge--wait">Cut off</span>;
  }
}
