import { Component, type ReactNode } from "react";
import { Retry } from "../button.js";
import { Notice } from "../notice.js";

interface BoundaryProps {
  /** Name of the failed part in the message: "The form". */
  what: string;
  /** Identifies the content: a change retries after a failure. */
  subject?: string;
  children: ReactNode;
}

interface BoundaryState {
  problem: Error | undefined;
  subject: string | undefined;
}

/**
 * An error boundary: shows a message for a part that could not be loaded or rendered, and the rest of the page
 * continues.
 */
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
        actions={<Retry onClick={() => this.setState({ problem: undefined })} />}
      >
        <bdi>{problem.message.replace(/[^.!?]$/, "$&.")}</bdi> The timeline is kept: export it before you load the page
        again.
      </Notice>
    );
  }
}
