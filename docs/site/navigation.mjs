import { posix } from "node:path";

const API = "docs/reference/api/index.md";
/** Pages that no index lists, by the start of their names. */
const REST = {
  "Environments and examples": /^(envs|examples)\//,
  Benchmarks: /^(benchmarks|conformance)\//,
  Project: /^[A-Z_]+\.md$/,
};
/** A line of the index with more pages than this folds all but the first. */
const UNFOLDED = 3;

/**
 * The sidebars: the groups of docs/README.md, then those of the pages elsewhere. `pages` has `file`, `page` and `title`.
 * `missing` names the pages that no index lists and that cannot be reached by links.
 */
export function createSidebar(pages, read) {
  const listed = new Set(["README.md", "docs/README.md"]);
  const item = ({ page, title }) => ({ text: title, link: linkOf(page) });
  const groups = [...groupsOf("docs/README.md"), ...groupsOf("docs/design/README.md").map(designGroup)];
  const rest = Object.entries(REST).map(([text, pattern]) => ({
    text,
    collapsed: true,
    items: pages.filter(({ file }) => pattern.test(file) && !listed.has(file)).map(item),
  }));
  const missing = pages.filter(({ file }) => /^docs\//.test(file) && !listed.has(file)).map(({ file }) => file);
  return { sidebar: [...groups, ...rest].filter(({ items }) => items.length > 0), missing };

  function groupsOf(index) {
    const groups = [];
    for (const line of read(index).split("\n")) {
      const heading = /^##+ (.+)$|^(\w[^|]*):$/.exec(line);
      if (heading || groups.length === 0)
        groups.push({ text: heading?.[1] ?? heading?.[2] ?? "Documentation", items: [] });
      if (line.startsWith("- ")) groups.at(-1).items.push(...itemsOf(index, line));
    }
    return groups;
  }

  function itemsOf(index, line) {
    const items = [...line.matchAll(/\]\(([^)#\s]+)\)/g)].flatMap(([, target]) => {
      const file = posix.join(posix.dirname(index), target);
      const page = pages.find((one) => one.file === file);
      if (!page || listed.has(file)) return [];
      listed.add(file);
      return [item(page)];
    });
    const [first, ...others] = items;
    return items.length > UNFOLDED ? [{ ...first, collapsed: true, items: others }] : items;
  }

  function designGroup({ items }) {
    return { text: "Decisions", collapsed: true, items };
  }
}

/** The sidebar of the API: a group for each entry. `sections` are those of `splitApi`. */
export function createApiSidebar(sections) {
  const overview = [
    { text: "Documentation", link: "/docs/" },
    { text: "All exports", link: linkOf(API) },
  ];
  return [
    { text: "API", items: overview },
    ...sections.map(({ entry, pages: [own, ...others] }) => ({
      text: entry,
      collapsed: true,
      items: [{ ...own, title: "Overview" }, ...others].map(({ page, title }) => ({ text: title, link: linkOf(page) })),
    })),
  ];
}

function linkOf(page) {
  return `/${page.replace(/(index)?\.md$/, "")}`;
}
