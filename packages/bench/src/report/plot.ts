import { ConfigError } from "openenv-ts/internal";
import type { Figure } from "./figures/figure.js";

/** The parts of the plotting packages that we use. They are optional, so their types may be missing. */
interface Plotter {
  compile(spec: object): { spec: object };
  parse(spec: object): object;
  View: new (runtime: object, options: object) => { toSVG(): Promise<string>; finalize(): void };
  Resvg: new (svg: string, options: object) => { render(): { asPng(): Uint8Array } };
}

const PACKAGES = ["vega-lite", "vega", "@resvg/resvg-js"] as const;
const PNG_SCALE = 2;

/**
 * Draws a figure as SVG and PNG.
 * @throws ConfigError when the plotting packages are not installed.
 */
export async function drawFigure(figure: Figure): Promise<{ svg: string; png: Uint8Array }> {
  const { Resvg } = await loadPlotter();
  const svg = await drawSvg(figure);
  const image = new Resvg(svg, { fitTo: { mode: "zoom", value: PNG_SCALE }, font: { loadSystemFonts: true } });
  return { svg, png: image.render().asPng() };
}

/** @throws ConfigError as `drawFigure`. */
export async function drawSvg({ spec }: Figure): Promise<string> {
  const { compile, parse, View } = await loadPlotter();
  const view = new View(parse(compile(spec).spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

async function loadPlotter(): Promise<Plotter> {
  try {
    // These are not string literals, so that code that compiles against this package does not need the packages.
    const [lite, vega, resvg] = await Promise.all(PACKAGES.map((name) => import(name) as Promise<Plotter>));
    return { ...lite, ...vega, ...resvg } as Plotter;
  } catch (cause) {
    throw new ConfigError(
      "The pictures need packages that are not installed. Run `npm install --save-dev vega-lite@~6.4 vega@~6.2 " +
        "@resvg/resvg-js@~2.6`, or use --no-figures.",
      { cause },
    );
  }
}
