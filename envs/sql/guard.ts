/** Bounds the work of a statement before it runs: SQLite cannot be interrupted, and a time limit would not be deterministic. */

/** What `EXPLAIN QUERY PLAN` returns. */
export interface PlanRow {
  id: number;
  parent: number;
  detail: string;
}

export class QueryError extends Error {}

/** SQLite copies expressions of subqueries into the queries around them; their number multiplies with each level. */
const MOST_COPIES = 300_000;
const MOST_SELECTS = 12;
/** Loops times the length of the statement: about 10 ns each. */
const MOST_WORK = 100_000_000;
/** Words that are no names. */
const WORDS = new Set(
  "select from where as join left inner cross on and or not in is null like between group by having order limit desc asc".split(
    " ",
  ),
);
/** What a loop costs in addition to its expressions, in characters. */
const LOOP = 300;

const TOKENS = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\/|["`[][^"`\]]*["`\]]|\w+|\S/g;

/**
 * Checks a statement before SQLite reads it, and removes a semicolon at its end.
 * @throws QueryError
 */
export function checkText(sql: string): string {
  if (sql.includes("\0")) throw new QueryError("a query must not contain the character NUL");
  const text = sql.trim().replace(/;\s*$/, "");
  if (text === "") throw new QueryError("the query is empty");
  /** For each open bracket the SELECT that is read there, as an index of `names`. */
  const open = [0];
  /** Names in each SELECT. */
  const names = [0];
  for (const [written] of text.matchAll(TOKENS)) {
    const token = written.toLowerCase();
    // The work of such a window is the square of its rows.
    if (token === "exclude") throw new QueryError("EXCLUDE is not allowed in a window");
    if (token === ";") throw new QueryError("only one statement is allowed");
    if (token === "(") open.push(open.at(-1) ?? 0);
    else if (token === ")") open.pop();
    else if (token === "select") open[Math.max(open.length - 1, 0)] = names.push(0) - 1;
    else if (/^([a-z_"`[]|\*$)/.test(token) && !WORDS.has(token))
      names[open.at(-1) ?? 0] = (names[open.at(-1) ?? 0] ?? 0) + 1;
  }
  if (names.length - 1 > MOST_SELECTS) throw new QueryError(`a query may have at most ${MOST_SELECTS} SELECTs`);
  if (names.reduce((product, count) => product * Math.max(count, 1), 1) > MOST_COPIES) {
    throw new QueryError("the query has too many names in nested SELECTs: make it simpler");
  }
  return text;
}

/**
 * Checks how often the innermost loop of a plan may run.
 * @param sizes rows of each table
 * @throws QueryError
 */
export function checkPlan(sql: string, plan: readonly PlanRow[], sizes: ReadonlyMap<string, number>): void {
  const loops = new Plan(sql, plan, sizes).count(0);
  const most = Math.floor(MOST_WORK / (LOOP + sql.length));
  if (loops > most) {
    throw new QueryError(
      `the query may need ${loops} loops over rows, and the limit for its length is ${most}: join on the id of a table, or filter earlier`,
    );
  }
}

class Plan {
  readonly #rows: readonly PlanRow[];
  /** The most rows that a table, an alias or a subquery may have. */
  readonly #sizes: Map<string, number>;
  /** A quoted name may look like another one in the plan. */
  readonly #isQuoted: boolean;
  /** A search by id is repeated for each value of a list. */
  readonly #hasList: boolean;
  #largest: number;

  constructor(sql: string, rows: readonly PlanRow[], tables: ReadonlyMap<string, number>) {
    const text = sql.replaceAll(/'(?:[^']|'')*'/g, "''");
    this.#rows = rows;
    this.#sizes = new Map(tables);
    this.#isQuoted = /["`[]/.test(text);
    this.#hasList = /\bin\b/i.test(text);
    this.#largest = Math.max(Math.ceil(sql.length / 4), ...tables.values());
    for (const [table, size] of tables) {
      for (const [, alias = ""] of text.matchAll(new RegExp(`\\b${table}\\s+(?:as\\s+)?(\\w+)`, "gi"))) {
        this.#note(alias, size);
      }
    }
  }

  /** Counts how often the innermost loops below a node run, with those of all its subqueries. */
  count(parent: number): number {
    let [loops, repeated, apart] = [1, 1, 0];
    for (const { id, detail } of this.#rows.filter((row) => row.parent === parent)) {
      if (detail.includes("VIRTUAL TABLE")) throw new QueryError("virtual tables are not allowed");
      if (/^(SCAN|SEARCH|MULTI-INDEX) /.test(detail)) {
        loops *= this.#sizeOf(detail);
        continue;
      }
      const inner = this.count(id);
      if (detail.startsWith("CORRELATED")) repeated += inner;
      else apart += inner;
      const produced = /^(?:MATERIALIZE|CO-ROUTINE) (.*)$/.exec(detail)?.[1];
      if (produced !== undefined) this.#note(produced, inner);
    }
    return loops * repeated + apart;
  }

  #note(name: string, size: number): void {
    const key = name.toLowerCase();
    this.#sizes.set(key, Math.max(this.#sizes.get(key) ?? 0, size));
    this.#largest = Math.max(this.#largest, size);
  }

  #sizeOf(detail: string): number {
    if (!(this.#isQuoted || this.#hasList) && detail.includes("USING INTEGER PRIMARY KEY (rowid=?)")) return 1;
    if (detail === "SCAN CONSTANT ROW") return 1;
    const constant = /^SCAN (\d+)(?: |-ROW)/.exec(detail)?.[1];
    if (constant !== undefined) return Number(constant);
    const name = /^(?:SCAN|SEARCH) (\w+)(?: |$)/.exec(detail)?.[1];
    const known = this.#isQuoted || name === undefined ? undefined : this.#sizes.get(name.toLowerCase());
    return known ?? this.#largest;
  }
}
