import type { BuildFailure, BuildOptions, BuildResult } from "esbuild";
import { ConfigError } from "openenv-ts/internal";

let running = 0;

/**
 * Runs esbuild.
 * @throws BuildFailure when the source does not compile, ConfigError when esbuild itself does not run.
 */
export async function runEsbuild<Options extends BuildOptions>(options: Options): Promise<BuildResult<Options>> {
  const esbuild = await import("esbuild");
  running += 1;
  try {
    return await esbuild.build<Options>(options as Parameters<typeof esbuild.build<Options>>[0]);
  } catch (error) {
    if (isBuildFailure(error)) throw error;
    throw new ConfigError(
      `The compiler esbuild does not run: ${describe(error)} Install the packages on this machine with npm ci, optional ones included.`,
      { cause: error },
    );
  } finally {
    // The last one ends the compiler's process, which otherwise lives as long as this one.
    running -= 1;
    if (running === 0) await esbuild.stop();
  }
}

export function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** The first sentence; a message about a program for another platform begins with an empty line. */
function describe(error: unknown): string {
  const lines = String(error instanceof Error ? error.message : error).split("\n");
  const [first = "it gave no reason"] = lines.map((line) => line.trim()).filter((line) => line !== "");
  return first.endsWith(".") ? first : `${first}.`;
}
