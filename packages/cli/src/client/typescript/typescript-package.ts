import type { SchemaBody } from "openenv-ts/protocol";
import type { Names } from "../../project/names.js";
import type { ClientTypes } from "../types.js";
import { renderToolTypes, renderTypeScriptTypes } from "./render-typescript.js";

const TYPESCRIPT_MARK = "// Written by `openenv client typescript`; a change is lost when it is run again.";

/**
 * The code of the package and its types, before what they use of openenv-ts is bundled with them. `library` is where
 * that is, as a specifier: the folder of the compiled client.
 */
export function renderTypeScriptPackage(
  types: ClientTypes,
  schemas: SchemaBody,
  { names, library }: { names: Names; library: string },
): Record<string, string> {
  const { prefix, module } = names;
  const { action, observation, state } = types;
  const { tools, ...parts } = schemas;
  return {
    "index.js": `import { connectTo } from "${library}/connect-to.js";
import { contractFromSchemas } from "${library}/contract/schema-contract.js";

const schemas = ${renderLiteral({ ...parts, ...(tools && { tools }) })};

export const contract = contractFromSchemas(${JSON.stringify(module)}, schemas);

export const ${prefix}Env = { connect: (url, options = {}) => connectTo(url, contract, options) };
`,
    "index.d.ts": `${TYPESCRIPT_MARK}
import type { EnvClient } from "${library}/env-client.js";
import type { ConnectOptions } from "${library}/options.js";
import type { SchemaContract } from "${library}/contract/schema-contract.js";

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

/** It depends on nothing: npm does not install what a package outside of the project depends on. */
export function renderPackageJson(names: Names, version: string): string {
  const manifest = {
    name: `${names.kebab}-client`,
    version,
    private: true,
    description: `Client of the OpenEnv environment ${names.module}`,
    type: "module",
    engines: { node: ">=20.19" },
    files: ["dist"],
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" }, "./package.json": "./package.json" },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
