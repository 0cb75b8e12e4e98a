import type { ViewProps } from "../../views.js";

/** What the environment is, and how to use it from elsewhere. */
export default function AboutView({ info }: ViewProps) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <h2>{info.name}</h2>
    </main>
  );
}
