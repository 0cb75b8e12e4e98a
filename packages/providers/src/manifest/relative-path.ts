import * as z from "zod";

/** A path that cannot leave the folder and is not a URL, because a repository may come from a stranger. */
export function relativePath() {
  return z
    .string()
    .min(1)
    .refine(
      (path) => !/^[\\/]|:/.test(path) && !path.split(/[\\/]/).includes(".."),
      "a relative path inside this folder",
    );
}
