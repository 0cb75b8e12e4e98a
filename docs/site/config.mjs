import { defineConfig } from "vitepress";

/** `build.mjs` gives the pages, in the order of docs/README.md, and the address of the repository if there is one. */
const { SITE_PAGES = "[]", SITE_REPOSITORY } = process.env;

export default defineConfig({
  title: "openenv-ts",
  description: "OpenEnv in TypeScript: write an environment once, serve it to many sessions, train with it.",
  outDir: "../../dist",
  cleanUrls: true,
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Documentation", link: "/docs/" },
      { text: "API", link: "/docs/reference/api" },
      { text: "Benchmarks", link: "/benchmarks/" },
    ],
    sidebar: JSON.parse(SITE_PAGES),
    outline: [2, 3],
    ...(SITE_REPOSITORY && { socialLinks: [{ icon: "github", link: SITE_REPOSITORY }] }),
  },
});
