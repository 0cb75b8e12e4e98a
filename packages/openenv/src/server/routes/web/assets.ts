import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import type { HttpRequest, HttpResponse } from "#parts/sockets";
import { sendStatus, sendText } from "../../http/respond.js";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};
/** Compressed copies that may exist next to a file, the smallest first. */
const ENCODINGS = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
] as const;

/** Names in this folder hold a hash of what is in the file. */
const HASHED = "assets/";
const INDEX = "index.html";
/** The answer in a checkout that is not built. */
const NOT_BUILT = "The page is not built; run: npm run build\n";

/**
 * The files of one folder. Their names are listed in advance: a requested name is looked up, never joined to a path.
 * Links are no files.
 */
export class Assets {
  readonly #folder: string;
  #names: Promise<ReadonlySet<string>> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Answers with the file of this name, or the index for an empty one; 404 when there is none. */
  async send(name: string, request: HttpRequest, response: HttpResponse): Promise<void> {
    const file = name || INDEX;
    const type = TYPES[extname(file)];
    const names = await this.#list();
    if (name === "" && !names.has(INDEX)) {
      this.#names = undefined;
      return sendText(response, 404, { type: "text/plain; charset=utf-8", text: NOT_BUILT });
    }
    if (type === undefined || !names.has(file)) return sendStatus(response, 404);
    const accepted = acceptedEncodings(request.headers["accept-encoding"]);
    const variants = ENCODINGS.filter(({ suffix }) => names.has(file + suffix));
    const encoding = variants.find((variant) => accepted.has(variant.name));
    const bytes = await this.#read(file + (encoding?.suffix ?? ""));
    if (bytes === undefined) return sendStatus(response, 404);
    if (variants.length > 0) response.setHeader("vary", "accept-encoding");
    if (encoding !== undefined) response.setHeader("content-encoding", encoding.name);
    response.writeHead(200, {
      "content-type": type,
      "content-length": bytes.byteLength,
      "cache-control": cacheControl(file),
    });
    response.end(bytes);
  }

  #list(): Promise<ReadonlySet<string>> {
    this.#names ??= listFiles(this.#folder);
    return this.#names;
  }

  /** If a listed file is missing, the folder was replaced, so the next request lists it again. */
  async #read(name: string): Promise<Buffer | undefined> {
    try {
      return await readFile(join(this.#folder, name));
    } catch {
      this.#names = undefined;
      return undefined;
    }
  }
}

async function listFiles(folder: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  return new Set(files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/")));
}

function cacheControl(name: string): string {
  if (name.startsWith(HASHED)) return "public, max-age=31536000, immutable";
  return name === INDEX ? "no-cache" : "max-age=3600";
}

/** Codings of `Accept-Encoding`, without those that a weight of 0 excludes. */
function acceptedEncodings(header: string | string[] | undefined): Set<string> {
  const accepted = new Set<string>();
  for (const part of String(header ?? "").split(",")) {
    const [name = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    if (!parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) accepted.add(name);
  }
  return accepted;
}
