/**
 * `npm run docs -- site`: the documentation as a site in docs/site/dist, with the Markdown of each page next to its HTML and
 * llms.txt. A dead link fails. VitePress has a lock file of its own, so that nothing else installs it.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "../../scripts/root.mjs";

const HERE = import.meta.dirname;
const PAGES = join(HERE, ".cache/pages");
const DIST = join(HERE, "dist");
const TEXTS =
  /^(README|CONTRIBUTING|CHANGELOG|SECURITY|CODE_OF_CONDUCT)\.md$|^(docs|benchmarks(?!\/study)|conformance|examples)\/.*\.md$|^envs\/[^/]+\/README\.md$/;
const PICTURES = /^(docs|benchmarks)\/.*\.(png|svg)$/;
const GROUPS = {
  "": "Start",
  "docs/guide": "Guide",
  "docs/guide/train": "Train",
  "docs/reference": "Reference",
  "docs/design": "Design",
};

const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
const files = listed
  .toString()
  .split("\0")
  .filter((file) => file && existsSync(join(ROOT, file)));
const problems = [];

rmSync(PAGES, { recursive: true, force: true });
rmSync(DIST, { recursive: true, force: true });
for (const file of files.filter((name) => TEXTS.test(name))) {
  write(join(PAGES, pageOf(file)), rewriteLinks(file, readFileSync(join(ROOT, file), "utf8")));
}
for (const file of files.filter((name) => PICTURES.test(name)))
  cpSync(join(ROOT, file), join(PAGES, file), { recursive: true });
cpSync(join(HERE, "config.mjs"), join(PAGES, ".vitepress/config.mjs"));
if (problems.length > 0) throw new Error(`dead links:\n${problems.join("\n")}`);

const pages = files
  .filter((name) => TEXTS.test(name))
  .map((file) => ({ file, page: pageOf(file), title: titleOf(file) }));
if (!existsSync(join(HERE, "node_modules/vitepress"))) run("npm", "ci", "--no-workspaces");
process.env.SITE_PAGES = JSON.stringify(sidebar());
process.env.SITE_REPOSITORY = repository;
run(process.execPath, "node_modules/vitepress/bin/vitepress.js", "build", PAGES);
for (const { page } of pages) cpSync(join(PAGES, page), join(DIST, page));
writeFileSync(join(DIST, "llms.txt"), renderIndex());

/** A README is the index of its folder. */
function pageOf(file) {
  return file.replace(/README\.md$/, "index.md");
}

function titleOf(file) {
  return /^# (.*)$/m.exec(readFileSync(join(ROOT, file), "utf8"))?.[1] ?? file;
}

/** Links to pages stay; those to other files of the repository lead to the forge, or become text while it has no address. */
function rewriteLinks(file, text) {
  const parts = text.split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m);
  const rewritten = parts.map((part, index) =>
    index % 2 === 1 ? part : part.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, link),
  );
  return rewritten.join("");

  function link(whole, picture, label, target) {
    const [path, anchor] = target.split("#");
    if (/^\w+:/.test(target) || path === "") return whole;
    const place = posix.join(posix.dirname(file), path).replace(/\/$/, "");
    if (!files.some((one) => one === place || one.startsWith(`${place}/`))) {
      problems.push(`${file}: ${target}`);
      return whole;
    }
    if (PICTURES.test(place) && picture) return whole;
    const readme = `${place}/README.md`;
    const page = TEXTS.test(place) ? place : files.includes(readme) && TEXTS.test(readme) ? readme : undefined;
    if (page) return `[${label}](/${pageOf(page)}${anchor ? `#${anchor}` : ""})`;
    return repository ? `[${label}](${repository}/blob/main/${place})` : label;
  }
}

function sidebar() {
  return Object.entries(GROUPS).map(([folder, text]) => ({
    text,
    collapsed: folder === "docs/design",
    items: pages
      .filter(({ file }) => (posix.dirname(file) === "." ? "" : posix.dirname(file)) === folder)
      .map(({ page, title }) => ({ text: title, link: `/${page.replace(/(index)?\.md$/, "")}` })),
  }));
}

function renderIndex() {
  const head =
    "# openenv-ts\n\n> OpenEnv in TypeScript: environments for reinforcement learning of agents, their server and clients.\n";
  return `${head}\n## Pages\n\n${pages.map(({ page, title }) => `- [${title}](/${page})\n`).join("")}`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function run(command, ...args) {
  execFileSync(command, args, { cwd: HERE, stdio: "inherit" });
}
