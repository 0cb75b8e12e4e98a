import { sampleValue } from "../../../contract/json-schema/sample-value.js";
import { isObject } from "../../../util/is-object.js";

type Schema = Record<string, unknown>;
type Content = Record<string, { schema: Schema }>;

/** The parts of an OpenAPI document that the page reads. */
export interface OpenApi {
  info: { title: string; description: string };
  paths: Record<string, Record<string, unknown> & { parameters?: Parameter[] }>;
  components: { schemas: Record<string, Schema> };
}

interface Operation {
  tags: string[];
  summary: string;
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content: Content }>;
}

interface Parameter {
  name: string;
  in: "path" | "header";
  required: boolean;
  description?: string;
}

interface PageOptions {
  /** The page has forms that send requests. Without them it is unfolded. */
  sends: boolean;
}

/** The OpenAPI document as a page. Addresses are relative, so that it works below a prefix too. */
export function renderDocsPage(api: OpenApi, { sends }: PageOptions): string {
  const { title, description } = api.info;
  const routes = operationsOf(api);
  const tags = new Set(routes.map(tagOf));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="docs/docs.css">
${sends ? '<script src="docs/docs.js" defer></script>\n' : ""}</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${renderInline(description)}</p>
<p class="quiet">As <a href="openapi.json">OpenAPI document</a> · <a href="${sends ? "redoc" : "docs"}">${sends ? "To read, unfolded" : "To send requests"}</a></p>
${[...tags]
  .map((tag) => {
    const own = routes.filter((route) => tagOf(route) === tag);
    return `<section>\n<h2>${escapeHtml(tag)}</h2>\n${own.map((route) => renderRoute(api, route, sends)).join("\n")}\n</section>`;
  })
  .join("\n")}
<section>
<h2>Schemas</h2>
${Object.entries(api.components.schemas)
  .map(([name, schema]) => renderSchema(name, schema, !sends, `schema-${name}`))
  .join("\n")}
</section>
</main>
</body>
</html>
`;
}

interface Route {
  path: string;
  method: string;
  operation: Operation;
  parameters: readonly Parameter[];
}

function operationsOf({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, { parameters = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation: operation as Operation,
      parameters: parameters as readonly Parameter[],
    })),
  );
}

function tagOf({ operation }: Route): string {
  return operation.tags[0] ?? "Others";
}

function renderRoute(api: OpenApi, route: Route, sends: boolean): string {
  const { path, method, operation, parameters } = route;
  const body = operation.requestBody?.content["application/json"]?.schema;
  const answers = Object.entries(operation.responses).map(([status, { description, content }]) =>
    renderSchema(`${status} ${description}`, Object.values(content)[0]?.schema ?? {}, !sends),
  );
  return `<details class="route" data-path="${escapeHtml(path)}" data-method="${method}"${sends ? "" : " open"}>
<summary><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code> <span class="quiet">${escapeHtml(operation.summary)}</span></summary>
${parameters.map(renderParameter).join("\n")}
${body === undefined ? "" : renderSchema("Request body", body, !sends)}
${answers.join("\n")}
${sends ? renderForm(api, route, body) : ""}
</details>`;
}

function renderParameter({ name, in: place, required, description = "" }: Parameter): string {
  const facts = `${place}${required ? ", required" : ""}`;
  return `<p><code>${escapeHtml(name)}</code> <span class="quiet">${facts}</span> ${renderInline(description)}</p>`;
}

function renderForm(api: OpenApi, { path, method, parameters }: Route, body: Schema | undefined): string {
  const id = `${method}-${path}`.replaceAll(/\W+/g, "-");
  const inputs = parameters.map(({ name, in: place, required }) =>
    renderInput(
      `${id}-${name}`,
      name,
      `<input name="${escapeHtml(name)}" data-in="${place}"${required ? " required" : ""} autocomplete="off"`,
    ),
  );
  const example = body === undefined ? "" : JSON.stringify(exampleOf(api, body), null, 2);
  const text = `<textarea name="body" spellcheck="false" rows="${Math.min(16, example.split("\n").length + 1)}"`;
  if (body !== undefined) inputs.push(renderInput(`${id}-body`, "Body", text, `>${escapeHtml(example)}</textarea>`));
  const isGuarded = path.startsWith("/sessions");
  if (isGuarded) {
    inputs.push(
      renderInput(`${id}-token`, "Operator's token", '<input name="token" type="password" autocomplete="off"'),
    );
  }
  return `<form>
${inputs.join("\n")}
<button type="submit">Send</button>
<div class="answer" role="status"></div>
</form>`;
}

/** An example of the required members. */
function exampleOf(api: OpenApi, schema: Schema): Schema {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema["$ref"]))?.[1];
  const { properties, required } = (name === undefined ? schema : api.components.schemas[name]) ?? {};
  const names = Array.isArray(required) ? (required as string[]) : [];
  const members = isObject(properties) ? properties : {};
  return Object.fromEntries(names.map((member) => [member, sampleValue((members[member] ?? {}) as Schema)]));
}

function renderInput(id: string, label: string, start: string, end = ">"): string {
  return `<label for="${escapeHtml(id)}">${escapeHtml(label)}</label>\n${start} id="${escapeHtml(id)}"${end}`;
}

function renderSchema(title: string, schema: Schema, open: boolean, anchor?: string): string {
  const id = anchor === undefined ? "" : ` id="${escapeHtml(anchor)}"`;
  const text = escapeHtml(JSON.stringify(schema, null, 2));
  // Names of schemas lead to where they are.
  const linked = text.replace(/#\/components\/schemas\/(\w+)/g, '<a href="#schema-$1">$&</a>');
  return `<details${id}${open ? " open" : ""}><summary>${escapeHtml(title)}</summary><pre tabindex="0">${linked}</pre></details>`;
}

/** Text between backticks is code. */
function renderInline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** Escapes text for HTML, also for attributes in double quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
