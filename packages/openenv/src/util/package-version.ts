import { readFileSync } from "node:fs";

let version: string | undefined;

/** The version of this package, as its manifest has it. */
export function packageVersion(): string {
  if (version === undefined) {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    version = manifest.version;
  }
  return version;
}
