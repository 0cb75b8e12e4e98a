/**
 * Who uses each name of `openenv-ts/internal`. A name that no other package uses fails, and so does a number of names that
 * is not the limit. `npm run docs` writes the table of docs/design/packages.md from this.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { ROOT } from "../root.mjs";

const ENTRY = "packages/openenv/src/internal.ts";
const SPECIFIER = "openenv-ts/internal";
/** The folders whose files use the entry; a benchmark or a test of an environment counts as a user as well. */
const FOLDERS = ["packages", "benchmarks", "envs"];
const SOURCE = /\.(?:tsx?|mjs)$/;
const SKIPPED = /(?:^|\/)(?:node_modules|dist)\/|^packages\/openenv\/|^packages\/.*\.test\.tsx?$/;

/** The number of names. It only falls. */
const NAMES = 32;

if (process.argv[1] === import.meta.filename) {
  const problems = judge(findUses(readFiles()), NAMES);
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The text of the entry, and the files that may use it as pairs of a path and a text. */
export function readFiles() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((file) => `${folder}/${file.split(sep).join("/")}`),
  );
  return {
    entry: readFileSync(join(ROOT, ENTRY), "utf8"),
    users: files
      .filter((file) => SOURCE.test(file) && !SKIPPED.test(file))
      .map((file) => [file, readFileSync(join(ROOT, file), "utf8")])
      .filter(([, text]) => text.includes(SPECIFIER)),
  };
}

/**
 * The users of each name by their package, and for a function that loads a module what they take from it:
 * `{ name, users: string[], loaded: string[] }`. Throws for a name that is not exported, which no compiler notices in .mjs.
 */
export function findUses({ entry, users }) {
  const uses = new Map(exportedBy(entry).map((name) => [name, { users: new Set(), loaded: new Set() }]));
  for (const [file, text] of users) {
    const [base, folder] = file.split("/");
    for (const name of importedBy(file, text)) {
      const use = uses.get(name);
      if (use === undefined) throw new Error(`${file} imports ${name}, which ${SPECIFIER} does not export.`);
      use.users.add(base === "packages" ? folder : base);
      for (const member of loadedBy(name, text)) use.loaded.add(member);
    }
  }
  return [...uses].map(([name, use]) => ({ name, users: [...use.users].sort(), loaded: [...use.loaded].sort() }));
}

export function judge(uses, limit) {
  const unused = uses.filter(({ users }) => users.length === 0);
  const problems = unused.map(({ name }) => `${SPECIFIER} exports ${name}, which no other package uses. Remove it.`);
  if (uses.length > limit) problems.push(`${SPECIFIER} has ${uses.length} names; ${limit} is the limit.`);
  if (uses.length < limit) {
    problems.push(`${SPECIFIER} has ${uses.length} names: lower NAMES in scripts/checks/internal.mjs.`);
  }
  return problems;
}

function exportedBy(text) {
  const names = [];
  new Visitor({
    ExportNamedDeclaration: ({ declaration, specifiers }) => {
      names.push(...specifiers.map(({ exported }) => exported.name));
      names.push(...(declaration?.declarations ?? []).map(({ id }) => id.name));
    },
  }).visit(parse(ENTRY, text));
  return names.sort();
}

function importedBy(file, text) {
  const names = [];
  new Visitor({
    ImportDeclaration: ({ source, specifiers }) => {
      if (source.value === SPECIFIER) names.push(...specifiers.map(({ imported }) => imported.name));
    },
  }).visit(parse(file, text));
  return names;
}

/** The names that are taken from `await load()`, at once or as members. */
function loadedBy(load, text) {
  const taken = [...text.matchAll(new RegExp(`\\{([^{}]*)\\} = await ${load}\\(\\)`, "g"))];
  const members = [...text.matchAll(new RegExp(`await ${load}\\(\\)\\)\\.(\\w+)`, "g"))];
  return [
    ...taken.flatMap(([, names]) => names.split(",").map((name) => name.trim())),
    ...members.map(([, name]) => name),
  ];
}

function parse(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return program;
}
