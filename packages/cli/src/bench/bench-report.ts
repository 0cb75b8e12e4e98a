import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readResults } from "@openenv-ts/bench";
import { createFigures, drawFigure, renderScalingReport } from "@openenv-ts/bench/internal";
import { exit, print } from "../terminal/output.js";

/** Writes REPORT.md and figures/ from the results of one or several runs. */
export async function writeReport(
  dirs: readonly string[],
  options: { outputDir: string; figures: boolean },
): Promise<void> {
  const { outputDir } = options;
  const results = readResults(dirs);
  const figures = options.figures ? createFigures(results.bursts) : { drawn: [], omitted: [] };
  const drawn = await Promise.all(figures.drawn.map(async (figure) => ({ ...figure, ...(await drawFigure(figure)) })));
  mkdirSync(join(outputDir, "figures"), { recursive: true });
  // What is left out now may be there from an earlier report.
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
