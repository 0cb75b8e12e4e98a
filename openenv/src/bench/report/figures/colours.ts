/** Kelly's colours of greatest contrast, those that are easy to see on white first. */
const COLOURS = [
  ...["#0067a5", "#f38400", "#be0032", "#008856", "#875692", "#a1caf1", "#654522", "#e68fac", "#8db600", "#848482"],
  ...["#2b3d26", "#f3c300", "#b3446c", "#c2b280", "#604e97", "#f99379", "#e25822", "#882d17", "#f6a600", "#dcd300"],
];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
const GOLDEN_ANGLE = 137.508;

/** One colour for each name, in every picture the same; no two names share one. */
export function coloursOf(names: readonly string[]): string[] {
  return names.map((_, index) => COLOURS[index] ?? generate(index - COLOURS.length));
}

/** Tells apart, with the colour, lines that lie close together. */
export function shapesOf(names: readonly string[]): string[] {
  return names.map((_, index) => SHAPES[index % SHAPES.length] as string);
}

function generate(index: number): string {
  const hue = (index * GOLDEN_ANGLE) % 360;
  // Fractions keep two hues from becoming one.
  return `hsl(${hue.toFixed(3)}, ${index % 2 === 0 ? 55 : 80}%, ${35 + 10 * (index % 3)}%)`;
}
