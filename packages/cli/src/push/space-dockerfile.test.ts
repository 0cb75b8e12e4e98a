import { expect, test } from "vitest";
import { ConfigError } from "../../../openenv/src/errors.js";
import { renderSpaceDockerfile } from "./space-dockerfile.js";

/** A variable of the Dockerfile, not a placeholder of this file. */
const variable = (name: string) => `$\{${name}}`;

test("the interface is enabled once", async () => {
  const text = await renderSpaceDockerfile('FROM node:20-slim\nCMD ["node", "app.js"]\n');
  expect(text).toBe('FROM node:20-slim\nCMD ["node", "app.js"]\nENV ENABLE_WEB_INTERFACE=true\n');
  expect(await renderSpaceDockerfile(text)).toBe(text);
  const off = "FROM a\nENV PORT=8000 \\\n  ENABLE_WEB_INTERFACE=false\n";
  expect(await renderSpaceDockerfile(off)).toBe(off);
});

test("a variable of a stage that the last one does not build on is ignored", async () => {
  const text = (from: string) => `FROM node:24 AS build\nENV ENABLE_WEB_INTERFACE=true\nFROM ${from}\nCMD ["node"]\n`;
  expect(await renderSpaceDockerfile(text("node:24-slim"))).toMatch(/CMD.*\nENV ENABLE_WEB_INTERFACE=true\n$/);
  expect(await renderSpaceDockerfile(text("build"))).toBe(text("build"));
});

test("a name in a comment or a command is not a variable", async () => {
  const text = "FROM a\n# ENABLE_WEB_INTERFACE\nRUN echo ENABLE_WEB_INTERFACE=true\n";
  expect(await renderSpaceDockerfile(text)).toContain("\nENV ENABLE_WEB_INTERFACE=true\n");
});

test.each([
  ["one stage", "FROM node:20\nRUN x\n", "FROM base:1\nRUN x\n"],
  [
    "a stage that compiles keeps its image",
    "FROM node:22 AS build\nRUN npm ci\nFROM node:22\nCOPY --from=build /app /app\n",
    "FROM node:22 AS build\nRUN npm ci\nFROM base:1\nCOPY --from=build /app /app\n",
  ],
  [
    "the last stage starts from an earlier one",
    "FROM node:22 AS build\nFROM --platform=linux/amd64 node:20 AS Runs\nUSER node\nFROM runs\nCOPY --from=build a b\n",
    "FROM node:22 AS build\nFROM --platform=linux/amd64 base:1 AS Runs\nUSER node\nFROM runs\nCOPY --from=build a b\n",
  ],
  [
    "the image is a variable",
    `ARG BASE=node:20\nARG OTHER=x\nFROM node:22 AS build\nFROM ${variable("BASE")} AS last\n`,
    `ARG BASE=base:1\nARG OTHER=x\nFROM node:22 AS build\nFROM ${variable("BASE")} AS last\n`,
  ],
  [
    "a part of the image is a variable",
    `ARG VERSION=20\nFROM node:${variable("VERSION")}-slim\n`,
    "ARG VERSION=20\nFROM base:1\n",
  ],
  ["the variable has no value", "ARG BASE\nFROM $BASE\n", "ARG BASE\nFROM base:1\n"],
  [
    "small letters, a comment, a continued line",
    "# FROM x\nfrom \\\n  node:20 as last\nRUN <<EOF\nFROM y\nEOF\n",
    "# FROM x\nfrom \\\n  base:1 as last\nRUN <<EOF\nFROM y\nEOF\n",
  ],
])("another base image: %s", async (_case, text, expected) => {
  expect(await renderSpaceDockerfile(text, { base: "base:1" })).toBe(`${expected}ENV ENABLE_WEB_INTERFACE=true\n`);
});

test("a Dockerfile without FROM and an invalid base image are rejected", async () => {
  await expect(renderSpaceDockerfile("RUN x\n")).rejects.toThrow(ConfigError);
  await expect(renderSpaceDockerfile("FROM a\n", { base: "a\nRUN evil" })).rejects.toThrow("is not a valid image name");
});
