/**
 * `npm run docs -- site`: the documentation as a site in docs/site/dist, with the Markdown of each page next to its HTML and
 * llms.txt. A dead link fails. VitePress has a lock file of its own, so that nothing else installs it.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "../../scripts/root.mjs";
import { splitApi } from "./api-pages.mjs";
import { createApiSidebar, createSidebar } from "./navigation.mjs";

const HERE = import.meta.dirname;
const PAGES = join(HERE, ".cache/pages");
const DIST = join(HERE, "dist");
const API = "docs/reference/api.md";
const TEXTS =
  /^(README|CONTRIBUTING|CHANGELOG|SECURITY|CODE_OF_CONDUCT)\.md$|^(docs|benchmarks(?!\/study)|conformance|examples)\/.*\.md$|^envs\/[^/]+\/README\.md$/;
const PICTURES = /^(docs|benchmarks)\/.*\.(png|svg)$/;
const PICTURE = /<picture>[\s\S]*?<img alt="([^"]*)" src="([^"]*)">\s*<\/picture>/g;
/** The page of a server has the same icon, in the accent of its light theme. */
const ICON = { file: "packages/web/src/icon.svg", light: "#2355d0", dark: "#83a6ff" };

const { repository, homepage } = JSON.parse(read("package.json"));
const { SITE_REPOSITORY = repository, SITE_HOMEPAGE = homepage } = process.env;
const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
const files = listed
  .toString()
  .split("\0")
  .filter((file) => file && existsSync(join(ROOT, file)));
const problems = [];

const pages = files
  .filter((file) => TEXTS.test(file))
  .map((file) => ({ file, page: pageOf(file), title: titleOf(file), text: rewrite(file, read(file)) }));
const api = splitApi(pages.find(({ file }) => file === API).text);
const { sidebar, missing } = createSidebar(pages, read);
problems.push(...missing.map((file) => `docs/README.md: no link to ${file}`));
if (problems.length > 0) throw new Error(`dead links, or pages without a link:\n${problems.join("\n")}`);
const texts = new Map([
  ...pages.filter(({ file }) => file !== API).map(({ page, text }) => [page, text]),
  ...api.texts,
]);

rmSync(PAGES, { recursive: true, force: true });
rmSync(DIST, { recursive: true, force: true });
for (const [page, text] of texts) write(join(PAGES, page), page === "index.md" ? homeOf(text) : text);
for (const file of files.filter((name) => PICTURES.test(name))) cpSync(join(ROOT, file), join(PAGES, file));
cpSync(join(HERE, "config.mjs"), join(PAGES, ".vitepress/config.mjs"));
cpSync(join(HERE, "theme"), join(PAGES, ".vitepress/theme"), { recursive: true });
write(join(PAGES, "public/icon.svg"), read(ICON.file));
write(join(PAGES, "public/icon-dark.svg"), read(ICON.file).replaceAll(ICON.light, ICON.dark));
cpSync(join(ROOT, "docs/images/play-light.png"), join(PAGES, "public/play.png"));

if (!existsSync(join(HERE, "node_modules/vitepress"))) run("npm", "ci", "--no-workspaces");
process.env.SITE_SIDEBAR = JSON.stringify({ "/docs/reference/api/": createApiSidebar(api.sections), "/": sidebar });
process.env.SITE_REPOSITORY = SITE_REPOSITORY;
process.env.SITE_HOMEPAGE = SITE_HOMEPAGE;
run(process.execPath, "node_modules/vitepress/bin/vitepress.js", "build", PAGES);
for (const [page, text] of texts) write(join(DIST, page), text);
writeFileSync(join(DIST, "llms.txt"), renderIndex());

function read(file) {
  return readFileSync(join(ROOT, file), "utf8");
}

/** A README is the index of its folder, and the API has pages in a folder. */
function pageOf(file) {
  return file === API ? "docs/reference/api/index.md" : file.replace(/README\.md$/, "index.md");
}

function titleOf(file) {
  return /^# (.*)$/m.exec(read(file))?.[1] ?? file;
}

/** The README as the first page: its title and first paragraph become the head. */
function homeOf(text) {
  const [, title, intro] = /^# (.*)\n\n([\s\S]*?)\n\n/.exec(text);
  const [tagline] = /^.*?\.(?= |$)/.exec(intro.replaceAll("\n", " "));
  const actions = [
    { theme: "brand", text: "Your first environment", link: "/docs/guide/create" },
    { theme: "alt", text: "Documentation", link: "/docs/" },
    { theme: "alt", text: "API", link: "/docs/reference/api/" },
  ];
  const hero = { name: title, text: "OpenEnv in TypeScript", tagline, actions };
  return `---\n${JSON.stringify({ layout: "home", hero })}\n---\n${text.slice(text.indexOf(intro) + intro.length)}`;
}

/**
 * Links to pages stay; those to other files of the repository lead to the forge, or become text while it has no address.
 * A picture that exists light and dark follows the theme of the site.
 */
function rewrite(file, text) {
  const parts = text.split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m);
  const rewritten = parts.map((part, index) =>
    index % 2 === 1 ? part : part.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, link),
  );
  return rewritten.join("").replace(PICTURE, (_, alt, light) => pictures(alt, light));

  function link(whole, picture, label, target) {
    const [path, anchor] = target.split("#");
    if (/^\w+:/.test(target) || path === "") return whole;
    const place = posix.join(posix.dirname(file), path).replace(/\/$/, "");
    if (!files.some((one) => one === place || one.startsWith(`${place}/`))) {
      problems.push(`${file}: ${target}`);
      return whole;
    }
    if (PICTURES.test(place) && picture) return pictures(label, path);
    const readme = `${place}/README.md`;
    const page = TEXTS.test(place) ? place : files.includes(readme) && TEXTS.test(readme) ? readme : undefined;
    if (page) return `[${label}](/${pageOf(page)}${anchor ? `#${anchor}` : ""})`;
    return SITE_REPOSITORY ? `[${label}](${SITE_REPOSITORY}/blob/main/${place})` : label;
  }

  /** The picture for each theme, and the one for phones, of those that exist. */
  function pictures(alt, light) {
    const variants = ["phone", "light", "dark"].map((name) => [name, light.replace(/light(?=\.\w+$)/, name)]);
    const images = variants.filter(([, source]) => files.includes(posix.join(posix.dirname(file), source)));
    if (images.every(([, source]) => source === light)) return `![${alt}](${light})`;
    return images
      .map(([name, source]) => `<img class="only-${name}" alt="${alt}" src="./${posix.normalize(source)}">`)
      .join("");
  }
}

function renderIndex() {
  const head =
    "# openenv-ts\n\n> OpenEnv in TypeScript: environments for reinforcement learning of agents, their server and clients.\n";
  const list = [...pages, ...api.sections.map(({ pages: [own] }) => own)];
  return `${head}\n## Pages\n\n${list.map(({ page, title }) => `- [${title}](/${page})\n`).join("")}`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function run(command, ...args) {
  execFileSync(command, args, { cwd: HERE, stdio: "inherit" });
}
