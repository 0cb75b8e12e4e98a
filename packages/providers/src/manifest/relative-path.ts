import * as z from "zod";

/** A repository of somebody else must not name files outside of it, nor what a tool fetches from elsewhere. */
export function relativePath() {
  return z
    .string()
    .min(1)
    .refine((path) => !/^[\\/]|:/.test(path) && !path.split(/[\\/]/).includes(".."), "a path in this folder");
}
