import { pathToFileURL } from "node:url";

const BUILT = pathToFileURL(`${import.meta.dirname}/../../packages/openenv/dist/server/index.js`).href;

/** Of the built package: the threads and processes of isolated sessions are Node's own, which runs no TypeScript. */
export const { serve } = (await import(BUILT)) as typeof import("openenv-ts/server");
