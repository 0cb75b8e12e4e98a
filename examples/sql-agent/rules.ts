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
  { fault: /OVER \(ORDER/, fix: "OVER (PARTITION BY genre ORDER", when: /For each genre/ },
];

/** Queries in which one usual fault is fixed. */
export function suggestFixes(sql: string, question: string): string[] {
  const fitting = RULES.filter(({ fault, when }) => fault.test(sql) && (when?.test(question) ?? true));
  return fitting.map(({ fault, fix }) => sql.replace(fault, fix));
}
