import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseManifest } from "../../../providers/src/manifest/parse-manifest.js";
import { renderSpaceReadme } from "./front-matter.js";

const BENCHMARK = join(import.meta.dirname, "../../../../envs/benchmark");
const manifest = parseManifest("name: counter_game\ndescription: Counts.\nport: 7860\n", "openenv.yaml");

test("a README without front matter gets the fields of a Docker Space", () => {
  const { head, body } = split(renderSpaceReadme("# Counter\n", manifest));
  expect(head).toEqual({
    title: "Counter Game",
    emoji: "🎯",
    colorFrom: "blue",
    colorTo: "green",
    pinned: false,
    base_path: "/web",
    short_description: "Counts.",
    sdk: "docker",
    app_port: 7860,
    tags: ["openenv"],
  });
  expect(body).toBe("\n# Counter\n");
});

test("the author's fields and comments stay; those that would keep the Space from starting are corrected", () => {
  const text = renderSpaceReadme(
    "---\n# own\ntitle: Mine\nemoji: 🐙\nsdk: gradio\napp_port: 1\ntags: [game, openenv]\nlicense: mit\n---\n\nText\n\n---\n\nMore\n",
    manifest,
  );
  const { head, body } = split(text);
  expect(head).toMatchObject({ title: "Mine", emoji: "🐙", sdk: "docker", app_port: 7860, license: "mit" });
  expect(head["tags"]).toEqual(["game", "openenv"]);
  expect(text).toContain("# own");
  expect(body).toBe("\nText\n\n---\n\nMore\n");
  expect(renderSpaceReadme(text, manifest)).toBe(text);
});

test("the README of envs/benchmark is published as it is", () => {
  const read = (name: string): string => readFileSync(join(BENCHMARK, name), "utf8");
  const readme = read("README.md");
  expect(renderSpaceReadme(readme, parseManifest(read("openenv.yaml"), "openenv.yaml"))).toBe(readme);
});

test("front matter that is not valid YAML is rejected", () => {
  expect(() => renderSpaceReadme("---\n{\n---\n", manifest)).toThrow("front matter");
  expect(() => renderSpaceReadme("---\n- a\n---\n", manifest)).toThrow("front matter");
});

function split(text: string): { head: Record<string, unknown>; body: string } {
  const [, head = "", body = ""] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? [];
  return { head: parse(head) as Record<string, unknown>, body };
}
