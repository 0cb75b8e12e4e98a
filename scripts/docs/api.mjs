import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";

const KINDS = {
  FunctionDeclaration: "function",
  TSDeclareFunction: "function",
  ClassDeclaration: "class",
  VariableDeclaration: "const",
  TSInterfaceDeclaration: "interface",
  TSTypeAliasDeclaration: "type",
};

/**
 * The page of every public export. `problems` has a sentence for each function, class and const without a docstring.
 */
export function renderApi(packageDir) {
  const problems = [];
  const sections = readEntries(packageDir).map(({ entry, exports }) => {
    for (const { name, kind, summary } of exports) {
      const silent = !summary && ["function", "class", "const"].includes(kind);
      if (silent) problems.push(`${entry}: ${kind} ${name} has no docstring`);
    }
    return renderSection(entry, exports);
  });
  const intro =
    "Every public export with what it is, and its signature. Generated from the declarations by `npm run docs`.";
  return { page: `# API\n\n${intro}\n${sections.join("")}`, problems };
}

/** The entries of a package, each with its exports, read from the declarations that the export map names. */
export function readEntries(packageDir) {
  const { name, exports } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, target]) => target.types)
    .map(([subpath, { types }]) => ({
      entry: join(name, subpath),
      exports: readExports(join(packageDir, types)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    }));
}

function renderSection(title, entries) {
  const rows = entries.map(
    ({ name, kind, summary }) => `| \`${name}\` | ${kind} | ${summary.replaceAll("|", "\\|")} |\n`,
  );
  const table = `| export | kind | what it is |\n|---|---|---|\n${rows.join("")}`;
  const signatures = entries.map(({ signature }) => signature).filter((signature) => signature !== undefined);
  return `\n## ${title}\n\n${table}\n\`\`\`ts\n${signatures.join("\n")}\n\`\`\`\n`;
}

/** `{ name, kind, summary, signature }` of each export of a declaration file, those passed on from other files included. */
function readExports(file) {
  const { program, comments, module, text } = parse(file);
  const imported = new Map();
  for (const { moduleRequest, entries } of module.staticImports) {
    for (const { importName, localName } of entries)
      imported.set(localName.value, [moduleRequest.value, importName.name]);
  }
  return module.staticExports.flatMap(({ entries }) =>
    entries.map(({ exportName, importName, localName, moduleRequest }) => {
      const passedOn = moduleRequest ? [moduleRequest.value, importName.name] : imported.get(localName.name);
      const found = passedOn ? lookUp(file, passedOn) : describe({ program, comments, text }, localName.name);
      return { ...found, name: exportName.name };
    }),
  );
}

function lookUp(from, [specifier, name]) {
  if (!specifier.startsWith(".")) return { kind: "from", summary: `See \`${specifier}\`.` };
  const file = join(dirname(from), specifier.replace(/\.js$/, ".d.ts"));
  const found = readExports(file).find((entry) => entry.name === name);
  if (!found) throw new Error(`${from}: ${specifier} has no export ${name}`);
  return found;
}

function describe({ program, comments, text }, name) {
  const statements = program.body.filter((candidate) => namesOf(candidate.declaration ?? candidate).includes(name));
  const [statement] = statements;
  const before = program.body.findLast(({ end }) => end <= statement.start)?.end ?? 0;
  const comment = comments.findLast(({ start, end }) => start >= before && end <= statement.start);
  const doc = comment?.value.startsWith("*") ? comment.value : "";
  return {
    kind: KINDS[(statement.declaration ?? statement).type],
    summary: firstSentence(doc),
    signature: statements.map((one) => renderSignature(text, one.declaration ?? one)).join("\n"),
  };
}

/** The declaration without comments, private members and what says that it is a declaration. */
function renderSignature(text, { start, end }) {
  return text
    .slice(start, end)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*(?:#|private ).*;\n/gm, "")
    .replace(/^declare /, "")
    .replace(/\n\s*(?=\n)/g, "");
}

function namesOf(declaration) {
  if (declaration.type === "VariableDeclaration") return declaration.declarations.map(({ id }) => id.name);
  return declaration.id ? [declaration.id.name] : [];
}

function firstSentence(doc) {
  const text = doc
    .replace(/^\s*\*+ ?/gm, "")
    .split(/^\s*@/m)[0]
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .replace(/\s+/g, " ")
    .trim();
  return /^.*?[.!?](?= [A-Z`"]|$)/.exec(text)?.[0] ?? text;
}

const parsed = new Map();

function parse(file) {
  if (!parsed.has(file)) {
    const text = readFileSync(file, "utf8");
    const { program, comments, module } = parseSync(file, text);
    parsed.set(file, { program, comments, module, text });
  }
  return parsed.get(file);
}
