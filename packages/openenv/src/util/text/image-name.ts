/** Of the image of an environment, as Docker allows it: `Counter_Game` is openenv-counter-game. */
export function imageName(name: string): string {
  const allowed = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return `openenv-${allowed || "environment"}`;
}
