import { readFileSync } from "node:fs";

interface Rule {
  /** The fault in a query. */
  fault: RegExp;
  fix: string;
  /** What the question says where this fault matters. */
  when?: RegExp;
}

/** Those that fit a clear fault come first: only three queries may be submitted. */
const RULES: readonly Rule[] = [
  { fault: /= NULL\b/, fix: "IS NULL" },
  { fault: /(?<=AND )((\S+) <> '\w+')/, fix: "($2 IS NULL OR $1)", when: /without any/ },
  { fault: /(?<=AND )(\S+ = '\w+' OR \S+ = '\w+')/, fix: "($1)" },
  { fault: /NOT IN \(SELECT (\w+) (FROM \w+ WHERE [^)]*)\)/, fix: "NOT IN (SELECT $1 $2 AND $1 IS NOT NULL)" },
  { fault: /(LEFT JOIN .*) WHERE (?=\w+\.\w+ IS NULL)/, fix: "$1 AND ", when: /every .* 0 if there are none/ },
  { fault: /(?<=FROM \w+ \w+ )JOIN/, fix: "LEFT JOIN", when: /every .* 0 if there are none/ },
  { fault: /\bCOUNT\((?=\w+\.)/, fix: "COUNT(DISTINCT ", when: /different/ },
  { fault: /\bAVG\(COALESCE\(([^,]+), 0\)\)/, fix: "AVG($1)" },
  { fault: /\b100 \*/, fix: "100.0 *", when: /percentage/ },
  { fault: /(\S+) BETWEEN '(\S+)' AND '(\S+)'/, fix: "$1 >= '$2' AND $1 < '$3 24'", when: /both days included/ },
  { fault: / < (?=\w+\.\w+)/, fix: " <= ", when: /still in time/ },
  { fault: /^(SELECT (\S+), SUM\(.*?)(?= ORDER BY|$)/, fix: "$1 GROUP BY $2", when: /each/ },
  { fault: /\bASC\b/, fix: "DESC", when: /latest first/ },
  { fault: /(\w)\.(\w+) > (\w)\.\2/, fix: "$3.$2 > $1.$2", when: /more than .* above/ },
  { fault: / JOIN (\w+ \w) ON (\S+ = \S+) WHERE/, fix: " WHERE EXISTS (SELECT 1 FROM $1 WHERE $2) AND", when: /once/ },
  {
    fault: /^SELECT DISTINCT (\w)\.id, \S+ (FROM (\w+) .*) WHERE NOT \((.*)\)$/,
    fix: "SELECT id, name FROM $3 WHERE id NOT IN (SELECT $1.id $2 WHERE $4)",
    when: /never/,
  },
  {
    fault: /(JOIN \w+ (\w) ON \2\.(\w+) .*\(SELECT MAX\((\w)\.[^)]*\)[^)]*)/,
    fix: "$1 AND $4.$3 = $2.$3",
    when: /For each .* latest/,
  },
  { fault: /OVER \(ORDER/, fix: "OVER (PARTITION BY genre ORDER", when: /For each genre/ },
];

const forms = readFileSync(new URL("./questions.sql", import.meta.url), "utf8").matchAll(/^-- (.*)\n(SELECT.*);$/gm);
const QUESTIONS = [...forms].map(([, form = "", query = ""]) => ({ form: new RegExp(form), query }));

/** The broken query with one usual fault fixed; without one, the queries for a form of question. */
export function suggest(question: string, broken: string | null): string[] {
  if (broken === null) return QUESTIONS.flatMap(({ form, query }) => fill(query, form.exec(question)));
  const fitting = RULES.filter(({ fault, when }) => fault.test(broken) && (when?.test(question) ?? true));
  return fitting.map(({ fault, fix }) => broken.replace(fault, fix));
}

/** `$1` is the first part of the question that was found. */
function fill(query: string, found: RegExpExecArray | null): string[] {
  return found === null ? [] : [query.replaceAll(/\$(\d)/g, (_, nth: string) => found[Number(nth)] ?? "")];
}
