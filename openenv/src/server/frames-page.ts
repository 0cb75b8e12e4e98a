import { escapeHtml } from "../util/escape-html.js";
import type { AsyncApi, FrameDescription } from "./asyncapi.js";

/**
 * The page of the frames needs no script and no other host. Text of an environment may turn the direction of writing: it
 * does so inside its own element only.
 */
export const FRAMES_CSS = `
* { unicode-bidi: isolate; }
:root { color-scheme: light dark; --line: light-dark(#d5dae1, #3a424d); --quiet: light-dark(#4f5866, #a9b3c0); }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; } h2 { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1.5rem; }
html { background: light-dark(#fff, #14171c); color: light-dark(#15181d, #e8ebef); }
a { color: light-dark(#1d4ed8, #8aa9ff); }
code, pre { font: 13px/1.5 ui-monospace, monospace; } h2 code { font-size: 1.35rem; } h4 code { font-size: 1rem; }
h3 { margin: 2rem 0 0; } h4 { margin: 1.5rem 0 0; } h4 + p { margin: 0.25rem 0 0.5rem; }
pre { border: 1px solid var(--line); border-radius: 4px; margin: 0.5rem 0; overflow-x: auto; padding: 0.75rem; }
p { max-width: 44rem; } .quiet { color: var(--quiet); }
details { margin: 0.5rem 0; } summary { cursor: pointer; padding: 0.25rem 0; }
`;

/** The AsyncAPI document as a page to read: what may be sent on each socket, and what is answered. */
export function renderFramesPage(api: AsyncApi): string {
  const { title, description } = api.info;
  const channels = Object.keys(api.channels).map((id) => renderChannel(api, id));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="frames.css">
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${renderInline(description)}</p>
<p class="quiet">As <a href="../asyncapi.json">AsyncAPI document</a> · <a href="../docs">HTTP routes</a></p>
${channels.join("\n")}
<section id="schemas">
<h2>Schemas</h2>
${Object.entries(api.components.schemas)
  .map(([name, schema]) => renderDetails(name, schema, { anchor: `schema-${name}` }))
  .join("\n")}
</section>
</main>
</body>
</html>
`;
}

function renderChannel(api: AsyncApi, id: string): string {
  const { address, description, messages, bindings } = api.channels[id] as AsyncApi["channels"][string];
  const answers = new Set(answerNames(api, id));
  const list = (names: string[]): string =>
    names.map((name) => renderFrame(name, api.components.messages[name] as FrameDescription)).join("\n");
  const asked = Object.keys(messages).filter((name) => !answers.has(name));
  const query = (bindings as { ws?: { query?: unknown } } | undefined)?.ws?.query;
  return `<section id="${escapeHtml(id)}">
<h2><code>${escapeHtml(address)}</code></h2>
<p>${renderInline(description)}</p>
${query === undefined ? "" : renderDetails("Query", query)}
${asked.length === 0 ? "" : `<h3>Frames of the client</h3>\n${list(asked)}`}
<h3>Frames of the server</h3>
${list([...answers])}
</section>`;
}

function answerNames(api: AsyncApi, id: string): string[] {
  const names = (refs: unknown): string[] =>
    (refs as { $ref: string }[]).map(({ $ref }) => $ref.split("/").at(-1) ?? "");
  const reply = api.operations[`${id}Receive`]?.["reply"] as { messages: unknown } | undefined;
  return names(reply?.messages ?? api.operations[`${id}Send`]?.["messages"]);
}

function renderFrame(name: string, { summary, payload, examples = [] }: FrameDescription): string {
  const shown = examples
    .map((example) => `<pre tabindex="0">${escapeHtml(JSON.stringify(example.payload))}</pre>`)
    .join("");
  return `<h4 id="frame-${escapeHtml(name)}"><code>${escapeHtml(typeOf(name, payload))}</code></h4>
<p>${renderInline(summary)}</p>
${shown}${renderDetails("Schema", payload)}`;
}

/** As it stands in the frame, where it does. */
function typeOf(name: string, payload: Record<string, unknown>): string {
  const { type } = (payload["properties"] ?? {}) as { type?: { const?: unknown } };
  return typeof type?.const === "string" ? type.const : name;
}

function renderDetails(title: string, schema: unknown, { anchor }: { anchor?: string } = {}): string {
  const id = anchor === undefined ? "" : ` id="${escapeHtml(anchor)}"`;
  const text = escapeHtml(JSON.stringify(schema, null, 2));
  // Names of schemas lead to where they are.
  const linked = text.replace(/#\/components\/schemas\/(\w+)/g, '<a href="#schema-$1">$&</a>');
  return `<details${id}><summary>${escapeHtml(title)}</summary><pre tabindex="0">${linked}</pre></details>`;
}

/** Words between backticks are code. */
function renderInline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
