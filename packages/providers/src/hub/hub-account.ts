import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where the Hub answers, without a slash at the end: `HF_ENDPOINT`, else the public one. */
export function hubEndpoint(): string {
  return (process.env["HF_ENDPOINT"] || "https://huggingface.co").replace(/\/+$/, "");
}

/** The token of the user: `HF_TOKEN`, else the file that a login of the Hub's own tools leaves. */
export function readHubToken(): string | undefined {
  const set = process.env["HF_TOKEN"]?.trim();
  if (set) return set;
  try {
    return readFileSync(hubTokenFile(), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Where a login keeps its token: `HF_TOKEN_PATH`, else `token` in `HF_HOME`. */
export function hubTokenFile(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return process.env["HF_TOKEN_PATH"] || join(process.env["HF_HOME"] || join(cache, "huggingface"), "token");
}
