/** A loading placeholder, shown only after a moment, so that it does not flash with a local server. */
export function Loading({ what }: { what: string }) {
  return (
    <div className="loading" role="status">
      <div className="progress">
        <i />
      </div>
      <span className="sr">Loading {what}</span>
      <div className="skel skel--short" />
      <div className="skel skel--control" />
      <div className="skel" />
    </div>
  );
}
