import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";

/**
 * Reads the imports of a TypeScript file and the lines that print.
 * `imports`: `{ specifier, kind: "value" | "type" | "dynamic", line }`; `prints`: lines.
 */
export function readModule(file) {
  const text = readFileSync(file, "utf8");
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const imports = [];
  const prints = [];
  const lineOf = (node) => text.slice(0, node.start).split("\n").length;
  const add = (kind, node) => {
    if (node.source?.type !== "Literal") return;
    imports.push({ specifier: node.source.value, kind, line: lineOf(node) });
  };
  new Visitor({
    ImportDeclaration: (node) =>
      add(isTypeOnly(node.importKind, node.specifiers, "importKind") ? "type" : "value", node),
    ExportNamedDeclaration: (node) =>
      node.source && add(isTypeOnly(node.exportKind, node.specifiers, "exportKind") ? "type" : "value", node),
    ExportAllDeclaration: (node) => add(node.exportKind === "type" ? "type" : "value", node),
    ImportExpression: (node) => add("dynamic", node),
    TSImportType: (node) => add("type", node),
    MemberExpression: (node) => {
      if (isPrinter(node)) prints.push(lineOf(node));
    },
  }).visit(program);
  return { imports, prints };
}

/** `import "./x.js"` has no specifiers but a side effect, so it is a value import. */
function isTypeOnly(kind, specifiers, key) {
  return kind === "type" || (specifiers.length > 0 && specifiers.every((specifier) => specifier[key] === "type"));
}

function isPrinter({ object, property }) {
  if (object.type !== "Identifier") return false;
  if (object.name === "console") return true;
  return object.name === "process" && (property.name === "stdout" || property.name === "stderr");
}
