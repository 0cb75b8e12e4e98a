/** What differs in an environment that Bun serves, by file: a text of the template, and what replaces it. */
const REPLACEMENTS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "package.json": [
    ['"openenv serve"', '"openenv serve --runtime bun"'],
    ['"openenv serve --watch"', '"openenv serve --runtime bun --watch"'],
  ],
  // One process: what restarts it is the engine that runs the image.
  "server/app.ts": [[", supervise: true", ""]],
  "server/Dockerfile": [
    ["the base image needs node.", "the base image needs bun."],
    ["ARG BASE=node:24-slim", "ARG BASE=oven/bun:1-slim"],
    ["WORKERS=4", "WORKERS=1"],
    ['CMD ["node", "-e"', 'CMD ["bun", "-e"'],
    ['"node", "/app/dist/server/app.js"', '"bun", "/app/dist/server/app.js"'],
    [
      " This takes\n# longer than WORKER_TIMEOUT, after which the server replaces hanging workers itself. With a longer WORKER_TIMEOUT, raise\n# docker run --health-retries.",
      "",
    ],
  ],
};

/** The file of the template for an environment that Bun serves. */
export function adaptToBun(path: string, text: string): string {
  return (REPLACEMENTS[path] ?? []).reduce((adapted, [from, to]) => {
    if (!adapted.includes(from)) throw new Error(`the template's ${path} has no ${from}`);
    return adapted.replace(from, to);
  }, text);
}
