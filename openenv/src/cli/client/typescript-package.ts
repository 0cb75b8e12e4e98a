import type { SchemaBody } from "../../protocol/http.js";
import type { Names } from "../names.js";
import { renderToolTypes, renderTypeScriptTypes } from "./render-typescript.js";
import type { ClientTypes } from "./types.js";

/** What the first line of a generated file says; one without it is never overwritten. */
const TYPESCRIPT_MARK = "// Written by `openenv client typescript`; a change is lost when it is run again.";

/** The code of the package: plain JavaScript with its types, so that nobody has to build it. */
export function renderTypeScriptPackage(types: ClientTypes, schemas: SchemaBody, names: Names): Record<string, string> {
  const { prefix, module } = names;
  const { action, observation, state } = types;
  const { tools, ...parts } = schemas;
  return {
    "index.js": `${TYPESCRIPT_MARK}
import { connect, contractFromSchemas } from "openenv-ts/client";

const schemas = ${renderLiteral({ ...parts, ...(tools && { tools }) })};

export const contract = contractFromSchemas(${JSON.stringify(module)}, schemas);

export const ${prefix}Env = { connect: (url, options) => connect(url, contract, options) };
`,
    "index.d.ts": `${TYPESCRIPT_MARK}
import type { ConnectOptions, EnvClient, SchemaContract } from "openenv-ts/client";

${renderTypeScriptTypes(types)}
${types.tools.length > 0 ? `\n${renderToolTypes(types.tools, `${prefix}Tools`)}\n` : ""}
/** What \`connect\` of openenv-ts and its providers take. */
export declare const contract: SchemaContract<{
  action: ${action.name};
  observation: ${observation.name};
  state: ${state.name};
${types.tools.length > 0 ? `  tools: ${prefix}Tools;\n` : ""}}>;

/** One session of the environment. */
export type ${prefix}Env = EnvClient<typeof contract>;

export declare const ${prefix}Env: {
  /**
   * Opens a session on a server.
   * @throws ConnectionError when there is none, ContractMismatchError when it has other schemas by now.
   */
  connect(url: string | URL, options?: ConnectOptions): Promise<${prefix}Env>;
};
`,
  };
}

/** JSON as JavaScript, which has infinities, and where a plain key `__proto__` would set the prototype. */
function renderLiteral(value: unknown): string {
  const infinite = `infinite ${crypto.randomUUID()} `;
  const mark = (_key: string, member: unknown): unknown =>
    typeof member === "number" && !Number.isFinite(member) ? infinite + member : member;
  return JSON.stringify(value, mark, 2)
    .replaceAll(new RegExp(`"${infinite}(-?Infinity|NaN)"`, "g"), "$1")
    .replaceAll(/^( *)"__proto__":/gm, '$1["__proto__"]:');
}

/** `openenv` is what the package depends on: a version, or the path of a packed one. */
export function renderPackageJson(names: Names, version: string, openenv: string): string {
  const manifest = {
    name: `${names.kebab}-client`,
    version,
    private: true,
    description: `Client of the OpenEnv environment ${names.module}`,
    type: "module",
    engines: { node: ">=20.19" },
    files: ["index.js", "index.d.ts", "vendor"],
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
    dependencies: { "openenv-ts": openenv },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
