/** Something is on its way: shown only after a moment, so that a local server never flashes. */
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
