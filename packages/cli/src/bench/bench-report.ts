import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFigures, drawFigure, readResults, renderScalingReport } from "@openenv-ts/bench";
import { exit, print } from "../terminal/output.js";

/** Writes REPORT.md and figures/ from the results of one or more runs. */
export async function writeReport(
  dirs: readonly string[],
  options: { outputDir: string; figures: boolean },
): Promise<void> {
  const { outputDir } = options;
  const results = readResults(dirs);
  const figures = options.figures ? createFigures(results.bursts) : { drawn: [], omitted: [] };
  const drawn = await Promise.all(figures.drawn.map(async (figure) => ({ ...figure, ...(await drawFigure(figure)) })));
  mkdirSync(join(outputDir, "figures"), { recursive: true });
  // Removes figures of an earlier report that this one omits.
  for (const { name } of figures.omitted) {
    for (const ending of ["svg", "png"]) rmSync(join(outputDir, "figures", `${name}.${ending}`), { force: true });
  }
  for (const { name, svg, png } of drawn) {
    writeFileSync(join(outputDir, "figures", `${name}.svg`), svg);
    writeFileSync(join(outputDir, "figures", `${name}.png`), png);
  }
  writeFileSync(join(outputDir, "REPORT.md"), renderScalingReport(results, figures));
  print(`${join(outputDir, "REPORT.md")}, ${drawn.length} figures as SVG and PNG`);
  exit(0);
}
