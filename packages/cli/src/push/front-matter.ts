import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { Document, isMap, parseDocument } from "yaml";

const BLOCK = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m;
const TAG = "openenv";
const EMOJI = "🎯";

/**
 * Returns the README as a Space needs it: front matter that makes it a Docker Space on the manifest's port with its
 * interface at `/web`. What an author wrote there stays, but for what would keep the Space from starting.
 * @throws ConfigError when the front matter is no YAML.
 */
export function renderSpaceReadme(readme: string, { name, description, port }: Manifest): string {
  const match = readme.startsWith("---") ? BLOCK.exec(readme) : null;
  const head = parseHead(match?.[1] ?? "");
  const defaults = {
    title: titleOf(name),
    emoji: EMOJI,
    colorFrom: "blue",
    colorTo: "green",
    pinned: false,
    base_path: "/web",
    ...(description !== undefined && { short_description: description.slice(0, 60) }),
  };
  for (const [key, value] of Object.entries(defaults)) if (!head.has(key)) head.set(key, value);
  head.set("sdk", "docker");
  head.set("app_port", port);
  const tags: unknown = head.toJS().tags;
  const others = Array.isArray(tags) ? tags.filter((tag) => tag !== TAG) : [];
  head.set("tags", [...others, TAG]);
  const body = match === null ? `\n${readme}` : readme.slice(match[0].length);
  return `---\n${head.toString()}---\n${body}`;
}

function parseHead(text: string): Document {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigError(
      `The front matter of README.md is no YAML: ${document.errors[0]?.message}; mend or remove it.`,
    );
  }
  if (document.contents === null) return new Document({});
  if (!isMap(document.contents)) {
    throw new ConfigError(
      "The front matter of README.md is no list of fields; write `title: My environment` and so on.",
    );
  }
  return document;
}

/** `counter_game` is Counter Game. */
function titleOf(name: string): string {
  return name
    .split(/[_-]+/)
    .filter(Boolean)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
}
