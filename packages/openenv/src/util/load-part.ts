import { ConfigError } from "../errors.js";

/**
 * Loads a private package that openenv-ts contains; undefined when this copy of openenv-ts does not contain it. `load`
 * imports it as `import("#parts/<name>" as string)`: the compiler does not look for a name of type `string`, so the caller
 * compiles without the package, while bundlers see the name.
 */
export async function findPart<Part>(name: string, load: () => Promise<unknown>): Promise<Part | undefined> {
  try {
    return (await load()) as Part;
  } catch (error) {
    if (isMissing(error, name)) return undefined;
    throw error;
  }
}

/** Does the same as {@link findPart} for what cannot do without it. @throws ConfigError that names `use` and the part. */
export async function loadPart<Part>(name: string, load: () => Promise<unknown>, use: string): Promise<Part> {
  const part = await findPart<Part>(name, load);
  if (part === undefined) throw missingPart(name, use);
  return part;
}

/** The error for an option, or another use, of a part that is missing. */
export function missingPart(name: string, use: string): ConfigError {
  const advice = "install a complete openenv-ts, or do without it";
  return new ConfigError(`${use} needs the part "${name}" of openenv-ts, which this installation lacks: ${advice}.`);
}

/** The part itself is missing, and not something that it imports. Bun does not say which one. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message = "" } = error as { code?: unknown; message?: string };
  const isUnknown = code === "ERR_MODULE_NOT_FOUND" || code === "ERR_PACKAGE_IMPORT_NOT_DEFINED";
  return isUnknown && new RegExp(`(#parts|parts/${name}(/index\\.js)?)["']`).test(message);
}
