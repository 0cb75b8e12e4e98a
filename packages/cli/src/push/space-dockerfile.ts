import { checkImage } from "@openenv-ts/providers/internal";
import type { Dockerfile, From } from "dockerfile-ast";
import { ConfigError } from "openenv-ts/internal";

export interface SpaceDockerfileOptions {
  /** Base image that replaces the one in the Dockerfile. */
  base?: string | undefined;
}

interface Range {
  start: { line: number; character: number };
  end: { line: number; character: number };
}

/**
 * Returns the Dockerfile for a Space: with the web interface enabled, and with another base image if one is given. The
 * base image replaces that of the last stage, followed through the stages that it builds on. Other stages keep theirs,
 * so that a build stage still has its compiler.
 * @throws ConfigError for a Dockerfile without FROM, or a base that is not an image name.
 */
export async function renderSpaceDockerfile(text: string, { base }: SpaceDockerfileOptions = {}): Promise<string> {
  const { DockerfileParser } = await import("dockerfile-ast");
  const dockerfile = DockerfileParser.parse(text);
  const last = dockerfile.getFROMs().at(-1);
  if (last === undefined) throw new ConfigError("The Dockerfile has no FROM; add its base image.");
  const chain = chainOf(last, dockerfile);
  const place = base === undefined ? undefined : findBase(dockerfile, chain.at(-1) ?? last);
  const replaced = base === undefined || !place ? text : replace(text, place, checkImage(base));
  const hasInterface = dockerfile.getENVs().some((env) => {
    const stage = dockerfile.getFROMs().findLast((from) => lineOf(from) < lineOf(env));
    // Variables of other stages are not part of the image.
    if (stage === undefined || !chain.includes(stage)) return false;
    return env.getProperties().some((property) => property.getName() === "ENABLE_WEB_INTERFACE");
  });
  return hasInterface ? replaced : `${replaced.trimEnd()}\nENV ENABLE_WEB_INTERFACE=true\n`;
}

/** A stage and the stages that it builds on; the last one starts from an image. */
function chainOf(from: From, dockerfile: Dockerfile): From[] {
  const froms = dockerfile.getFROMs();
  const earlier = froms.slice(0, froms.indexOf(from));
  const parent = earlier.findLast((other) => other.getBuildStage()?.toLowerCase() === from.getImage()?.toLowerCase());
  return parent === undefined ? [from] : [from, ...chainOf(parent, dockerfile)];
}

function lineOf(instruction: { getRange(): Range }): number {
  return instruction.getRange().start.line;
}

/** The position of a stage's image name: in the ARG that its FROM uses, else in the FROM. */
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
