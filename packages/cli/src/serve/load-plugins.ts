import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import type { ServerPlugin } from "openenv-ts/plugin";
import { describePath } from "../project/bundle.js";
import { importModule } from "../project/load-environment.js";

/** Where the plugins of a server are named. */
interface NamedPlugins {
  /** Files of `--plugin`, relative to the current folder. */
  given: readonly string[];
  /** The folder that is served, and its manifest. */
  folder: string;
  manifest: Manifest | undefined;
  /** `--allow-plugins` is given, and a local folder is served. */
  isAllowed: boolean;
}

/** The absolute paths of all plugins, those of the command line first. @throws ConfigError for a manifest that may name none. */
export function findPlugins({ given, folder, manifest, isAllowed }: NamedPlugins): string[] {
  const named = manifest?.plugins ?? [];
  if (named.length > 0 && !isAllowed) {
    throw new ConfigError(
      `openenv.yaml names plugins (${named.join(", ")}), which decide who may use the server: serve a local folder with ` +
        "--allow-plugins, or remove them.",
    );
  }
  return [...given.map((path) => findPlugin(path)), ...named.map((path) => findPlugin(path, folder))];
}

/** The file of a plugin: a path, or the name of a package that is installed in the folder. */
export function findPlugin(named: string, folder = process.cwd()): string {
  const path = resolve(folder, named);
  if (/^[./]/.test(named) || existsSync(path)) return path;
  try {
    return createRequire(join(folder, "package.json")).resolve(named);
  } catch (error) {
    const isPackage = /^(@[\w-]+\/)?[\w-]+$/.test(named);
    if (!isPackage || (error as { code?: unknown }).code !== "MODULE_NOT_FOUND") return path;
    throw new ConfigError(`The plugin ${named} is neither a file nor an installed package: run npm install ${named}.`);
  }
}

/** Refuses a manifest with plugins for an image, which would serve without them. @throws ConfigError. */
export function refusePlugins(manifest: Manifest | undefined): void {
  const named = manifest?.plugins ?? [];
  if (named.length === 0) return;
  throw new ConfigError(
    `openenv.yaml names plugins (${named.join(", ")}), which an image does not load: pass them to serve() in the program ` +
      "of the image, such as server/app.ts, and remove them from openenv.yaml.",
  );
}

/** Loads plugins from modules, each with one as default export. @throws ConfigError for one that cannot be loaded. */
export async function loadPlugins(files: readonly string[]): Promise<ServerPlugin[]> {
  const plugins: ServerPlugin[] = [];
  for (const file of files) {
    const { default: plugin } = (await importModule(file)).exports;
    if (plugin === undefined) {
      throw new ConfigError(
        `${describePath(file)} has no plugin: export one as default, as in export default definePlugin({ … }).`,
      );
    }
    plugins.push(plugin as ServerPlugin);
  }
  return plugins;
}
