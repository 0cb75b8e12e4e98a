import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

/** `build.mjs` gives the sidebars and the addresses of the project, if it has any. */
const { SITE_SIDEBAR = "{}", SITE_REPOSITORY, SITE_HOMEPAGE } = process.env;
const DESCRIPTION = "OpenEnv in TypeScript: write an environment once, serve it to many sessions, train with it.";
const base = SITE_HOMEPAGE ? new URL(SITE_HOMEPAGE).pathname.replace(/\/?$/, "/") : "/";
const picture = SITE_HOMEPAGE ? new URL(`${base}play.png`, SITE_HOMEPAGE).href : `${base}play.png`;

export default defineConfig({
  title: "openenv-ts",
  description: DESCRIPTION,
  lang: "en",
  base,
  outDir: "../../dist",
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: `${base}icon.svg` }],
    ...Object.entries({ type: "website", site_name: "openenv-ts", description: DESCRIPTION, image: picture }).map(
      ([name, content]) => ["meta", { property: `og:${name}`, content }],
    ),
  ],
  /** The file in the repository; the pages of the API are parts of a generated one. */
  transformPageData(page) {
    page.filePath = page.filePath.replace(/(^|\/)index\.md$/, "$1README.md");
    if (page.relativePath.startsWith("docs/reference/api/")) page.frontmatter.editLink = false;
  },
  transformHead: ({ title }) => [["meta", { property: "og:title", content: title }]],
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: (markdown) => markdown.core.ruler.push("empty_heads", ({ tokens }) => tokens.forEach(withoutEmptyHead)),
  },
  vite: {
    resolve: {
      alias: [
        {
          find: /^.*\/(VPSidebarItem|VPHome|NotFound)\.vue$/,
          replacement: fileURLToPath(new URL("theme/$1.vue", import.meta.url)),
        },
      ],
    },
  },
  themeConfig: {
    logo: { light: "/icon.svg", dark: "/icon-dark.svg", alt: "" },
    search: { provider: "local", options: { _render: renderForSearch } },
    nav: [
      { text: "Documentation", link: "/docs/" },
      { text: "API", link: "/docs/reference/api/" },
      { text: "Benchmarks", link: "/benchmarks/" },
    ],
    sidebar: JSON.parse(SITE_SIDEBAR),
    outline: [2, 3],
    ...(SITE_REPOSITORY && {
      socialLinks: [{ icon: "github", link: SITE_REPOSITORY, ariaLabel: "Repository" }],
      editLink: { text: "Edit this page", pattern: `${SITE_REPOSITORY}/edit/main/:path` },
    }),
  },
});

/** Declarations of types would be half of the index that a search loads. */
function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env);
  return env.relativePath.startsWith("docs/reference/api/") ? html.replace(/<pre[\s\S]*?<\/pre>/g, "") : html;
}

/** An empty header cell becomes a data cell. */
function withoutEmptyHead({ type }, at, tokens) {
  if (type !== "th_open" || tokens[at + 1].content !== "") return;
  for (const token of [tokens[at], tokens[at + 2]]) token.tag = "td";
}
