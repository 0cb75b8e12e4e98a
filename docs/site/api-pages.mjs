/** The page of the API is one file, so that a change of a signature is seen in one place; the site shows it in pages. */
const FOLDER = "docs/reference/api";

/**
 * Splits docs/reference/api.md: an overview, and for each entry its table, a page for each function, class and constant,
 * and one for its types. Returns the sections, and the texts by the name of their page.
 */
export function splitApi(text) {
  const [head, ...parts] = text.split(/^## /m);
  const texts = new Map();
  /** What the page of an entry links to: where each name is. */
  const places = new Map();
  const sections = parts.map((part) => {
    const [table, ...details] = part.slice(part.indexOf("\n")).split(/^### /m);
    const entry = part.slice(0, part.indexOf("\n"));
    const folder = `${FOLDER}/${entry.replace("@", "").replaceAll("/", ".")}`;
    const pages = [{ page: `${folder}/index.md`, title: entry }];
    const types = details.filter((detail) => detail.startsWith("Types "));
    for (const detail of details.filter((one) => !types.includes(one))) {
      const name = detail.slice(0, detail.indexOf("\n"));
      const summary = table
        .split(`\n| \`${name}\` | `)[1]
        ?.replace(/^\w+ \| (.*) \|\n[\s\S]*$/, "$1")
        .replaceAll("\\|", "|");
      add(
        `${folder}/${name.toLowerCase()}.md`,
        name,
        `${summary}\n\nFrom [\`${entry}\`](index.md).${detail.slice(name.length)}`,
      );
      places.set(name, `/${folder}/${name.toLowerCase()}.md`);
    }
    if (types.length > 0) add(`${folder}/types.md`, "Types", `\n## ${types.join("\n## ")}`, `Types of ${entry}`);
    const rows = table.replace(/^\| `(\w+)` \| (\w+) \|/gm, (row, name, kind) => {
      if (details.some((one) => one.startsWith(`${name}\n`)))
        return row.replace(`\`${name}\``, `[\`${name}\`](${name.toLowerCase()}.md)`);
      return kind === "from" ? row : row.replace(`\`${name}\``, `[\`${name}\`](types.md)`);
    });
    texts.set(pages[0].page, `# ${entry}\n${rows}`);
    return { entry, pages };

    function add(page, title, body, heading = title) {
      pages.push({ page, title });
      texts.set(page, `# ${heading}\n\n${body}`);
    }
  });
  for (const [page, body] of texts) texts.set(page, body.replace(/see `(\w+)`, from \[/g, linkExample));
  const list = sections.map(({ entry, pages: [own] }) => `- [\`${entry}\`](/${own.page})\n`).join("");
  texts.set(`${FOLDER}/index.md`, `${head.trim()}\n\n${list}`);
  return { sections, texts };

  function linkExample(whole, name) {
    return places.has(name) ? whole.replace(`\`${name}\``, `[\`${name}\`](${places.get(name)})`) : whole;
  }
}
