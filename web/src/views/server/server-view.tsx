import type { ViewProps } from "../../views.js";

/** What the server is doing, for its operator. */
export default function ServerView({ info }: ViewProps) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <h2>{info.name}</h2>
    </main>
  );
}
