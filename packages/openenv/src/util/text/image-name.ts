/** The image name of an environment, in characters that Docker allows: `Counter_Game` becomes openenv-counter-game. */
export function imageName(name: string): string {
  const allowed = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return `openenv-${allowed || "environment"}`;
}
