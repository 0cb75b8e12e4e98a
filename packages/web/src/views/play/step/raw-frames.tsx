import { CopyButton } from "../../../parts/text/copy-button.js";
import { formatBytes } from "../../../parts/text/format.js";
import { Json } from "../../../parts/value/json.js";
import type { TimelineStep } from "../../../play/timeline.js";

/** The two frames of a step, as they crossed the wire. */
export function RawFrames({ step }: { step: TimelineStep }) {
  const { exchange } = step;
  if (!exchange) {
    const { action, observation, reward, done, metadata, failure } = step;
    const isUnanswered = failure !== undefined && step.at > 0;
    return (
      <section className="block">
        <p className="hint">
          {isUnanswered ? "No response arrived." : "This step was read from a file, which keeps no frames."}
        </p>
        <Frame
          title={isUnanswered ? "Sent" : "Recorded"}
          value={failure ? { action, error: failure } : { action, observation, reward, done, metadata }}
        />
      </section>
    );
  }
  return (
    <section className="block">
      <Frame title="Sent" value={exchange.sent} frame={exchange.frame} bytes={exchange.sentBytes} />
      <Frame title="Received" value={exchange.received} frame={exchange.frame + 1} bytes={exchange.receivedBytes} />
    </section>
  );
}

interface FrameProps {
  title: string;
  value: unknown;
  frame?: number;
  bytes?: number;
}

function Frame({ title, value, frame, bytes }: FrameProps) {
  return (
    <div className="frame">
      <header>
        <span className="badge">{title}</span>
        {frame === undefined ? null : <span>frame {frame}</span>}
        <span className="end">{bytes === undefined ? "" : formatBytes(bytes)}</span>
        <CopyButton what={`${title.toLowerCase()} frame`} text={() => JSON.stringify(value, null, 2)} />
      </header>
      <Json value={value} />
    </div>
  );
}
