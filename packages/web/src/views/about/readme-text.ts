import { isValidElement, type ReactNode } from "react";

/** A Space's README begins with its settings. */
export function withoutFrontMatter(text: string): string {
  return text.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---[ \t]*(\r?\n|$)/, "");
}

/** The id of a heading, as links in a README name it. */
export function anchorId(heading: string): string {
  const words = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim();
  return `readme-${words.replaceAll(/\s/g, "-")}`;
}

/** The text in an element. */
export function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (isValidElement<{ children?: ReactNode }>(node)) return textOf(node.props.children);
  return typeof node === "string" || typeof node === "number" ? String(node) : "";
}

interface Node {
  type: string;
  value?: string;
  children?: Node[];
}

/** A plugin of remark: comments of HTML are not for readers. */
export function dropComments() {
  return (tree: Node): void => drop(tree);
}

function drop({ children = [] }: Node): void {
  const kept = children.filter(({ type, value = "" }) => type !== "html" || !/^<!--[\s\S]*-->\s*$/.test(value));
  children.splice(0, children.length, ...kept);
  for (const child of kept) drop(child);
}
