/** Rules about the declarations of the packages: no function is over 80 lines, and no two exported types have one name. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { ROOT } from "../root.mjs";

const LIMIT = 80;
const SKIPPED = /\.test(?:-d)?\.tsx?$|\/fixtures\//;
const TYPES = ["TSInterfaceDeclaration", "TSTypeAliasDeclaration", "ClassDeclaration"];

if (process.argv[1] === import.meta.filename) {
  const files = readdirSync(join(ROOT, "packages"), { recursive: true })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => /^[\w-]+\/src\/.*\.tsx?$/.test(file) && !SKIPPED.test(file))
    .map((file) => [file, readFileSync(join(ROOT, "packages", file), "utf8")]);
  const problems = findProblems(files);
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The sentences about what is wrong in files, which are pairs of a path and a text. */
export function findProblems(files) {
  const types = new Map();
  const problems = [];
  for (const [file, text] of files) {
    const { functions, exported } = readDeclarations(file, text);
    for (const { name, line, lines } of functions) {
      problems.push(`packages/${file}:${line} ${name} has ${lines} lines; ${LIMIT} is the limit.`);
    }
    for (const name of exported) types.set(name, [...(types.get(name) ?? []), file]);
  }
  for (const [name, places] of types) {
    if (places.length > 1) problems.push(`Two exported types have the name ${name}: ${places.join(", ")}`);
  }
  return problems;
}

/** The functions with more lines than the limit, and the names of exported types. */
function readDeclarations(file, text) {
  const functions = [];
  const exported = [];
  const lineOf = (offset) => text.slice(0, offset).split("\n").length;
  const names = new Map();
  const visit = (node) => {
    const line = lineOf(node.start);
    const lines = lineOf(node.end) - line + 1;
    const name = node.id?.name ?? names.get(node) ?? "an anonymous function";
    if (lines > LIMIT) functions.push({ name, line, lines });
  };
  new Visitor({
    VariableDeclarator: ({ id, init }) => void names.set(init, id.name),
    MethodDefinition: ({ key, value }) => void names.set(value, key.name),
    FunctionDeclaration: visit,
    FunctionExpression: visit,
    ArrowFunctionExpression: visit,
    ExportNamedDeclaration: ({ declaration }) => {
      if (TYPES.includes(declaration?.type)) exported.push(declaration.id.name);
    },
  }).visit(parseSync(file, text).program);
  return { functions, exported };
}
