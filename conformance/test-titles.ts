import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

const ROOT = join(import.meta.dirname, "..");

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

/** Functions that define a test or a group of tests, also with modifiers such as `.each(table)`. */
const MAKERS = ["test", "it", "describe"];
const NOT_RUN = ["skip", "todo"];
/** Modifiers whose arguments are not the title, which is passed to the next call. */
const CURRIED = ["each", "for", "skipIf", "runIf"];

/**
 * The titles of the tests in a file that are not skipped, and of their groups. Strings in the table of an `each` count as
 * titles, because they are inserted into titles.
 */
export function readTestTitles(file: string, code: string): string[] {
  const titles: { text: string; start: number }[] = [];
  const skipped: Node[] = [];
  const visitCall = (call: Node): void => {
    const callee = call["callee"] as Node;
    const { names, tables } = readMaker(callee);
    const isCurried = callee.type === "MemberExpression" && CURRIED.includes(names.at(-1) ?? "");
    if (!MAKERS.includes(names[0] ?? "") || isCurried) return;
    if (names.some((name) => NOT_RUN.includes(name))) return void skipped.push(call);
    const [title] = call["arguments"] as Node[];
    const texts = [...(title ? textsIn(title) : []), ...tables.flatMap(textsIn)];
    titles.push(...texts.map((text) => ({ text, start: call.start })));
  };
  new Visitor({ CallExpression: (node) => visitCall(node as unknown as Node) }).visit(parseSync(file, code).program);
  const isRun = (start: number): boolean => !skipped.some((call) => call.start <= start && start < call.end);
  return titles.filter(({ start }) => isRun(start)).map(({ text }) => text);
}

/** The problem of a proof that names a part of the title of a test, if any. */
export function findTestProblem(file: string, title: string): string[] {
  if (!/\.test\.m?[jt]s$/.test(file) || !existsSync(join(ROOT, file))) return [`no test file ${file}`];
  const titles = readTestTitles(file, readFileSync(join(ROOT, file), "utf8"));
  return title !== "" && titles.some((one) => one.includes(title)) ? [] : [`no test "${title}" in ${file}`];
}

/** `test.skipIf(x).each(table)` has the names test, skipIf and each, and the table. */
function readMaker(callee: Node): { names: string[]; tables: Node[] } {
  if (callee.type === "Identifier") return { names: [String(callee["name"])], tables: [] };
  if (callee.type === "MemberExpression") {
    const { names, tables } = readMaker(callee["object"] as Node);
    return { names: [...names, String((callee["property"] as Node)["name"])], tables };
  }
  if (callee.type !== "CallExpression") return { names: [], tables: [] };
  const { names, tables } = readMaker(callee["callee"] as Node);
  return { names, tables: names.at(-1) === "each" ? [...tables, ...(callee["arguments"] as Node[])] : tables };
}

/** The string literals in an expression, and the literal parts of template strings. */
function textsIn(node: Node): string[] {
  if (node.type === "Literal") return typeof node["value"] === "string" ? [node["value"]] : [];
  if (node.type === "TemplateElement") return [(node["value"] as { cooked: string }).cooked];
  if (node.type.includes("Function")) return [];
  return Object.values(node)
    .flat()
    .flatMap((part) => (typeof part === "object" && part !== null && "type" in part ? textsIn(part as Node) : []));
}
