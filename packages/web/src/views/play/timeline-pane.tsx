import { lazily } from "../../parts/loading/lazily.js";
import { count } from "../../parts/text/format.js";
import type { Play, PlaySnapshot } from "../../play/play.js";
import { StepList } from "./step/step-list.js";

const RewardPlot = lazily("The plot", () => import("./reward/reward-plot.js"));

interface TimelinePaneProps {
  play: Play;
  shown: PlaySnapshot;
  hasTools: boolean;
}

/** Everything that happened in this tab: the rewards as a plot, the steps as a list. */
export function TimelinePane({ play, shown, hasTools }: TimelinePaneProps) {
  const timeline = play.shown();
  const steps = timeline.episodes.reduce((sum, episode) => sum + episode.steps, 0);
  const hasRewards = timeline.steps.some(({ kind, reward }) => kind === "step" && reward !== null);
  return (
    <section className="pane pane--timeline" aria-labelledby="tl-h">
      <header className="pane__head">
        <h2 id="tl-h">Timeline</h2>
        <span className="hint">{count(steps, "step")}</span>
        <span className="grow" />
        {hasRewards ? (
          <div className="legend">
            <span>
              <i />
              Reward
            </span>
            <span>
              <i className="l" />
              Cumulative
            </span>
          </div>
        ) : null}
      </header>
      {timeline.steps.length > 0 ? (
        <div className="chart">
          {/* Its place is kept from the first reset on, so that the list does not move when a reward comes. */}
          <div className="plot">
            {hasRewards ? (
              <RewardPlot timeline={timeline} selected={shown.selected} onSelect={(step) => play.select(step)} />
            ) : (
              <p className="hint">The plot appears with the first reward.</p>
            )}
          </div>
        </div>
      ) : null}
      <StepList play={play} timeline={timeline} selected={shown.selected} unseen={shown.unseen} hasTools={hasTools} />
      <div className="tl__foot">
        <span className="keys">
          <kbd>J</kbd> <kbd>K</kbd> move
        </span>
        <span className="keys">
          <kbd>D</kbd> diff
        </span>
        <span className="grow" />
        <span className="clip">{shown.imported ? "Read-only" : "Kept in this tab"}</span>
      </div>
    </section>
  );
}
