import { useSyncExternalStore } from "react";
import { Retry } from "../../parts/button.js";
import { lazily } from "../../parts/loading/lazily.js";
import { Notice } from "../../parts/notice.js";
import type { ViewProps } from "../../views.js";
import { FactsCard, ReferenceCard } from "./facts-cards.js";
import { SchemaCard } from "./schema-card.js";
import { SnippetCard } from "./snippet-card.js";

const Report = lazily("The validation", () => import("./report-card.js"));
const Readme = lazily("The README", () => import("./readme.js"));

/** Describes the environment, and how to use it from code. */
export default function AboutView({ info, play, schema: { value: schema, problem, load } }: ViewProps) {
  const { timeline } = useSyncExternalStore(play.subscribe, play.snapshot);
  return (
    <main className="page" id="main" tabIndex={-1}>
      {problem ? (
        <Notice tone="bad" title="The schemas could not be read." actions={<Retry onClick={load} />}>
          {problem}
        </Notice>
      ) : null}
      <div className="about">
        <section className="card" aria-labelledby="readme-h">
          <header className="card__head">
            <h2 id="readme-h">{info.readme === null ? "Description" : "README"}</h2>
          </header>
          {info.readme === null ? <Description info={info} /> : <Readme text={info.readme} />}
        </section>
        <div className="side">
          {schema ? <SnippetCard info={info} schema={schema} timeline={timeline} /> : null}
          <FactsCard info={info} />
          <ReferenceCard />
        </div>
      </div>
      {info.report ? <Report /> : null}
      {schema ? <SchemaCard schema={schema} /> : null}
    </main>
  );
}

function Description({ info: { name, description } }: Pick<ViewProps, "info">) {
  return (
    <div className="prose">
      <p className="prose__title">{name}</p>
      <p>{description || "This environment has no description."}</p>
      <p className="hint">A README.md in the folder of the environment is shown here.</p>
    </div>
  );
}
