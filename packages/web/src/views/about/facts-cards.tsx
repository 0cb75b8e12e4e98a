import type { WebInfo } from "openenv-ts/protocol";
import { BASE } from "../../server/base.js";

/** The main facts. */
export function FactsCard({ info }: { info: WebInfo }) {
  const { version, author, mode, capacity, documentation_url: docs, server_version } = info;
  return (
    <section className="card" aria-labelledby="facts-h">
      <header className="card__head">
        <h2 id="facts-h">Facts</h2>
      </header>
      <dl className="kv">
        <Fact name="Version">{version ?? "none"}</Fact>
        {author === null ? null : <Fact name="Author">{author}</Fact>}
        {docs !== null && /^https?:\/\//.test(docs) ? (
          <Fact name="Documentation">
            <Outside href={docs}>{docs}</Outside>
          </Fact>
        ) : null}
        <Fact name="Mode">{mode}</Fact>
        <Fact name="Places">
          {capacity.available_slots.toLocaleString("en")} of {capacity.max_sessions.toLocaleString("en")} free when this
          page was opened
        </Fact>
        <Fact name="Server">openenv-ts {server_version}</Fact>
      </dl>
    </section>
  );
}

const PAGES = [
  ["HTTP routes", "/docs"],
  ["OpenAPI", "/openapi.json"],
  ["Schemas", "/schema"],
  ["Metadata", "/metadata"],
] as const;

/** Links to the documentation of the server. */
export function ReferenceCard() {
  return (
    <section className="card" aria-labelledby="reference-h">
      <header className="card__head">
        <h2 id="reference-h">Reference</h2>
      </header>
      <dl className="kv">
        {PAGES.map(([name, path]) => (
          <Fact key={path} name={name}>
            <Outside href={BASE + path}>{path}</Outside>
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Opens a new tab, because this one has a session. */
export function Outside({ href, children }: { href: string; children: React.ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
