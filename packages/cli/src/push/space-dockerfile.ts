import { checkImage } from "@openenv-ts/providers/internal";
import type { Dockerfile, From } from "dockerfile-ast";
import { ConfigError } from "openenv-ts/internal";

export interface SpaceDockerfileOptions {
  /** Image to start from instead. */
  base?: string | undefined;
}

interface Range {
  start: { line: number; character: number };
  end: { line: number; character: number };
}

/**
 * Returns the Dockerfile as a Space needs it: with the web interface, and with another base image if one is given. That
 * replaces what the last stage starts from, over the stages that it builds on; the others keep theirs, so one that
 * compiles still finds its compiler.
 * @throws ConfigError for a Dockerfile without FROM, or a base that is no image name.
 */
export async function renderSpaceDockerfile(text: string, { base }: SpaceDockerfileOptions = {}): Promise<string> {
  const { DockerfileParser } = await import("dockerfile-ast");
  const dockerfile = DockerfileParser.parse(text);
  const last = dockerfile.getFROMs().at(-1);
  if (last === undefined) throw new ConfigError("The Dockerfile has no FROM; name the image it starts from.");
  const chain = chainOf(last, dockerfile);
  const place = base === undefined ? undefined : findBase(dockerfile, chain.at(-1) ?? last);
  const replaced = base === undefined || !place ? text : replace(text, place, checkImage(base));
  const hasInterface = dockerfile.getENVs().some((env) => {
    const stage = dockerfile.getFROMs().findLast((from) => lineOf(from) < lineOf(env));
    // What another stage sets does not reach the image.
    if (stage === undefined || !chain.includes(stage)) return false;
    return env.getProperties().some((property) => property.getName() === "ENABLE_WEB_INTERFACE");
  });
  return hasInterface ? replaced : `${replaced.trimEnd()}\nENV ENABLE_WEB_INTERFACE=true\n`;
}

/** A stage and those that it builds on; the last of them starts from an image. */
function chainOf(from: From, dockerfile: Dockerfile): From[] {
  const froms = dockerfile.getFROMs();
  const earlier = froms.slice(0, froms.indexOf(from));
  const parent = earlier.findLast((other) => other.getBuildStage()?.toLowerCase() === from.getImage()?.toLowerCase());
  return parent === undefined ? [from] : [from, ...chainOf(parent, dockerfile)];
}

function lineOf(instruction: { getRange(): Range }): number {
  return instruction.getRange().start.line;
}

/** Where the image of a stage is named: in the variable that it comes from, else in its FROM. */
function findBase(dockerfile: Dockerfile, root: From): Range | null {
  const variable = /^\$(?:\{(\w+)(?::?[-+].*)?\}|(\w+))$/.exec(root.getImage() ?? "");
  const name = variable?.[1] ?? variable?.[2];
  const argument = dockerfile.getInitialARGs().findLast((arg) => name && arg.getProperty()?.getName() === name);
  return argument?.getProperty()?.getValueRange() ?? root.getImageRange();
}

function replace(text: string, { start, end }: Range, by: string): string {
  const lines = text.split("\n");
  const line = lines[start.line] ?? "";
  lines[start.line] = line.slice(0, start.character) + by + line.slice(end.character);
  return lines.join("\n");
}
