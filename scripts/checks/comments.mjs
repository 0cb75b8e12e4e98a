/** Comments are sentences or noun phrases: none in the sources of the packages begins as a fragment such as "Whether …". */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseSync } from "oxc-parser";
import { ROOT } from "../root.mjs";

const SKIPPED = /\.test(?:-d)?\.tsx?$|\/fixtures\//;
const FRAGMENT = /^(?:As \{@link|How|Instead of|Like|Not|Of|Whether)\b/;
/** These words begin a sentence when a comma separates their phrase from the main clause. "At most one …" needs none. */
const PHRASE =
  /^(?:After|As|At(?! (?:least|most)\b)|Before|Below|By|For|From|In|On|Over|Per|To|Under|Until|While|With|Without)\b/;

if (process.argv[1] === import.meta.filename) {
  const problems = readdirSync(join(ROOT, "packages"), { recursive: true })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => /^[\w-]+\/src\/.*\.tsx?$/.test(file) && !SKIPPED.test(file))
    .flatMap((file) => findFragments(`packages/${file}`, readFileSync(join(ROOT, "packages", file), "utf8")));
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The comments of a file whose first sentence is a fragment, with their lines. */
export function findFragments(file, text) {
  return readComments(file, text).flatMap(({ line, comment }) => {
    const [first] = comment.split(/(?<=[.:;?])\s/);
    const isFragment = FRAGMENT.test(first) || (PHRASE.test(first) && !first.includes(","));
    return isFragment ? [`${file}:${line} is not a sentence: "${first}"`] : [];
  });
}

/** The comments of a file, each on one line. Consecutive lines of `//` are one comment. */
function readComments(file, text) {
  const found = [];
  for (const { type, value, start } of parseSync(file, text).comments) {
    const line = text.slice(0, start).split("\n").length;
    const comment = value
      .replace(/^\s*\*+/gm, "")
      .replace(/\s+/g, " ")
      .trim();
    const isAlone = text.slice(text.lastIndexOf("\n", start) + 1, start).trim() === "";
    const last = found.at(-1);
    if (type === "Line" && isAlone && last?.nextLine === line) {
      last.comment += ` ${comment}`;
      last.nextLine++;
    } else found.push({ line, comment, nextLine: type === "Line" && isAlone ? line + 1 : undefined });
  }
  return found;
}
