import { defineConfig } from "vite";

/**
 * Relative URLs, so that the page works under any prefix. Nothing is inlined, because the content policy forbids it.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  logLevel: "warn",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    rolldownOptions: {
      // The page contains no server.
      external: /^#parts\//,
      checks: { moduleLevelDirective: false, pluginTimings: false },
    },
  },
  // The client's way to Node's sockets is never taken in a browser.
  resolve: {
    conditions: ["openenv-source", "module", "browser", "development|production"],
    alias: { ws: `${import.meta.dirname}/src/server/no-ws.ts` },
  },
});
