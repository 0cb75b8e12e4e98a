import { Component, type ReactNode } from "react";
import { Notice } from "./notice.js";

interface BoundaryProps {
  /** What is missing when it fails: "The form". */
  what: string;
  children: ReactNode;
}

/** Keeps a failure inside: a part that could not be loaded or drawn says so, the rest of the page goes on. */
export class Boundary extends Component<BoundaryProps, { problem: Error | undefined }> {
  override state: { problem: Error | undefined } = { problem: undefined };

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
        <bdi>{problem.message || "It could not be loaded from the server."}</bdi> The timeline is kept: export it before
        you load the page again.
      </Notice>
    );
  }
}
