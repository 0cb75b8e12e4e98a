import { Component, type ReactNode } from "react";
import { Notice } from "../notice.js";

interface BoundaryProps {
  /** What is missing when it fails: "The form". */
  what: string;
  /** Names what is drawn: another name is tried anew after a failure. */
  subject?: string;
  children: ReactNode;
}

interface BoundaryState {
  problem: Error | undefined;
  subject: string | undefined;
}

/** Keeps a failure inside: a part that could not be loaded or drawn says so, the rest of the page goes on. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { problem: undefined, subject: this.props.subject };

  static getDerivedStateFromProps({ subject }: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return subject === state.subject ? null : { problem: undefined, subject };
  }

  static getDerivedStateFromError(problem: Error) {
    return { problem };
  }

  override render() {
    const { problem } = this.state;
    if (!problem) return this.props.children;
    return (
      <Notice
        tone="bad"
        title={`${this.props.what} could not be shown`}
        actions={
          <button type="button" className="btn btn--sm" onClick={() => this.setState({ problem: undefined })}>
            Try again
          </button>
        }
      >
        <bdi>{problem.message.replace(/[^.!?]$/, "$&.")}</bdi> The timeline is kept: export it before you load the page
        again.
      </Notice>
    );
  }
}
