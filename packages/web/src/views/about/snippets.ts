import { imageName, isObject, isToolAction, renderPython } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

export interface SnippetOptions {
  /** URL of the server, without a trailing slash. */
  url: string;
  /** Name of the environment. */
  name: string;
  /** The action of `step`, in wire format. */
  action: JsonObject;
  /** True when the schema accepts that action. */
  fits: boolean;
  /** Required reset options besides a seed. */
  reset: JsonObject;
  /** In production, the server has no HTTP routes for reset and step. */
  mode: "simulation" | "production";
  /** Reset and step require the orchestrator token. */
  guarded: boolean;
  /** `owner/name` of a Space, else null. */
  spaceId: string | null;
}

export interface Snippet {
  name: "typescript" | "python" | "curl" | "docker";
  label: string;
  /** A short description. */
  note: string;
  code: string;
}

/** The same short episode against this server, in each language. */
export function renderSnippets(options: SnippetOptions): Snippet[] {
  return [
    {
      name: "typescript",
      label: "TypeScript",
      note: options.fits ? "Checked against this server's schema" : "Example only: this server requires other values",
      code: typescript(options),
    },
    { name: "python", label: "Python", note: "The released Python client", code: python(options) },
    { name: "curl", label: "curl", note: "Plain HTTP", code: curl(options) },
    { name: "docker", label: "Docker", note: "Your own server", code: docker(options) },
  ];
}

function typescript({ url, action, reset, guarded }: SnippetOptions): string {
  const [connect, call] = isCall(action)
    ? ["connectTools", `await env.callTool(${quote(action.tool_name)}, ${renderTypeScript(action.arguments)})`]
    : ["connect", `await env.step(${renderTypeScript(action)})`];
  const token = guarded ? ", { token: process.env.OPENENV_ORCHESTRATOR_TOKEN }" : "";
  return `// As play.ts, in a folder where openenv-ts is installed:
// npx openenv run play.ts
import { ${connect} } from "openenv-ts/client";

await using env = await ${connect}(${quote(url)}${token});
const start = await env.reset(${renderTypeScript({ seed: 42, ...reset })});
console.log(start.observation);

const result = ${call};
console.log(${isCall(action) ? "result" : "result.observation, result.reward, result.done"});
`;
}

function python({ url, action, reset, guarded }: SnippetOptions): string {
  const given = Object.entries({ seed: 42, ...reset }).map(([name, value]) => `${name}=${renderPython(value)}`);
  const warning = guarded ? "# This server requires a token for reset and step, which this client cannot send.\n" : "";
  return `# pip install openenv
${warning}from openenv import GenericEnvClient

with GenericEnvClient(base_url=${quote(url)}).sync() as env:
    start = env.reset(${given.join(", ")})
    print(start.observation)

    result = env.step(${renderPython(action)})
    print(result.observation, result.reward, result.done)
`;
}

function curl({ url, action, reset, mode }: SnippetOptions): string {
  if (mode === "production") {
    return `# In production reset and step are available only over the WebSocket.
URL=${quoteShell(url)}

curl -sf "$URL/health"
curl -sf "$URL/metadata"
curl -sf "$URL/schema"
`;
  }
  return `# The cookie keeps the session between the calls.
URL=${quoteShell(url)}
JSON='content-type: application/json'
COOKIES=$(mktemp)

curl -sf -c "$COOKIES" -H "$JSON" -d ${quoteShell(JSON.stringify({ seed: 42, ...reset }))} "$URL/reset"
curl -sf -b "$COOKIES" -H "$JSON" -d ${quoteShell(JSON.stringify({ action }))} "$URL/step"
curl -sf -b "$COOKIES" "$URL/state"
`;
}

function docker({ url, name, spaceId }: SnippetOptions): string {
  const port = freePort(new URL(url));
  const run = (image: string): string => `docker run --rm -p 127.0.0.1:${port}:8000 ${image}`;
  const end = `\n# Then open http://localhost:${port}/web/\n`;
  if (spaceId !== null) {
    return `# The image of this Space.\n${run(`${SPACE_IMAGES}/${spaceName(spaceId)}:latest`)}\n${end}`;
  }
  const image = imageName(name);
  return `# In the folder of the environment, where openenv-ts is installed.
# It uses server/Dockerfile, as openenv init writes it, or Dockerfile.
npx openenv build -t ${image}
${run(image)}
${end}`;
}

/** The registry of Space images. */
const SPACE_IMAGES = "registry.hf.space";

/** A port other than that of this server, which may be on the same machine. */
function freePort({ hostname, port }: URL): number {
  return /^(localhost|127\.|\[::1\])/.test(hostname) && Number(port) >= 1024 && Number(port) < 65_535
    ? Number(port) + 1
    : 8000;
}

/** The Space's name in image and host names, which have no slash. */
function spaceName(id: string): string {
  return id.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

interface Call {
  tool_name: string;
  arguments: JsonObject;
}

function isCall(action: JsonObject): action is JsonObject & Call {
  return isToolAction(action) && typeof action["tool_name"] === "string" && isObject(action["arguments"]);
}

function renderTypeScript(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderTypeScript).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, item]) => `${renderName(name)}: ${renderTypeScript(item)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** A `__proto__` key would not create a field. */
function renderName(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** A string literal of TypeScript and Python. */
function quote(text: string): string {
  return JSON.stringify(text);
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
