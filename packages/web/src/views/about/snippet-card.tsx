import type { SchemaBody, WebInfo } from "openenv-ts/protocol";
import { useId, useMemo, useState } from "react";
import { Tabs } from "../../parts/tabs.js";
import type { Timeline } from "../../play/timeline.js";
import { BASE } from "../../server/base.js";
import { CopyText } from "./copy-text-button.js";
import { fitsSchema, sampleAction, sampleReset } from "./sample.js";
import { renderSnippets, type Snippet } from "./snippets.js";

interface SnippetCardProps {
  info: WebInfo;
  schema: SchemaBody;
  timeline: Timeline;
}

/** Code to copy, which plays on this server. */
export function SnippetCard({ info, schema, timeline }: SnippetCardProps) {
  const [selected, setSelected] = useState<Snippet["name"]>("typescript");
  const panel = useId();
  const action = useMemo(() => sampleAction(info, schema, timeline), [info, schema, timeline]);
  const fits = useMemo(() => fitsSchema(schema, action), [schema, action]);
  const snippets = renderSnippets({
    url: BASE,
    name: info.name,
    action,
    fits,
    reset: sampleReset(info),
    mode: info.mode,
    guarded: info.guarded,
    spaceId: info.space_id,
  });
  const shown = snippets.find(({ name }) => name === selected) ?? (snippets[0] as Snippet);
  return (
    <section className="card" aria-labelledby="snippets-h">
      <header className="card__head">
        <h2 id="snippets-h">Use it from code</h2>
      </header>
      <Tabs<Snippet["name"]>
        label="Language"
        tabs={snippets}
        selected={shown.name}
        onSelect={setSelected}
        panel={panel}
      />
      <div className="snippet" id={panel} role="tabpanel" aria-labelledby={`${panel}-${shown.name}`}>
        <header>
          <span>{shown.note}</span>
          <CopyText key={shown.name} text={shown.code} label="Copy" />
        </header>
        <pre className="code" tabIndex={0}>
          {shown.code.split("\n").map((line, at, lines) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no names
            <span key={at} className={/^\s*(#|\/\/)/.test(line) ? "c" : undefined}>
              {line}
              {at < lines.length - 1 ? "\n" : ""}
            </span>
          ))}
        </pre>
      </div>
    </section>
  );
}
