import { constants, DatabaseSync } from "@photostructure/sqlite";
import { rng } from "openenv-ts";
import type { Family, Value } from "./families.js";
import { checkPlan, checkText, type PlanRow, QueryError } from "./guard.js";

export interface Result {
  columns: string[];
  rows: Value[][];
  /** There are rows beyond the limit. */
  more: boolean;
}

/** Limits of SQLite: characters of a text, and counts of everything else. A query that needs more fails. */
const LIMITS = {
  length: 2_000,
  sqlLength: 8_000,
  exprDepth: 100,
  compoundSelect: 8,
  functionArg: 8,
  likePatternLength: 50,
  vdbeOp: 20_000,
  column: 64,
};

/** Functions whose work and result are small, and the same at any time. */
const FUNCTIONS = new Set(
  (
    "abs avg coalesce count dense_rank first_value glob iif ifnull instr lag last_value lead length like lower ltrim max min " +
    "nullif quote rank round row_number rtrim sign substr substring sum total trim typeof unicode upper"
  ).split(" "),
);

/** Tables that every SQLite database has. */
const OTHER_TABLES = /^(sqlite_|pragma_|json|dbstat|fts|rtree)/i;

/** The database of one session, in memory. Agents can only read it. */
export class Database {
  readonly #connection: InstanceType<typeof DatabaseSync>;
  readonly #sizes: Map<string, number>;

  constructor(family: Family, seed: number) {
    const rows = family.rows(rng(seed));
    this.#connection = new DatabaseSync(":memory:", { limits: { ...LIMITS, length: 1_000_000, sqlLength: 1_000_000 } });
    this.#connection.exec(renderScript(family, rows));
    this.#connection.limits.length = LIMITS.length;
    this.#connection.limits.sqlLength = LIMITS.sqlLength;
    this.#sizes = new Map(family.tables.map(({ name }) => [name, rows[name]?.length ?? 0]));
    this.#connection.setAuthorizer((action, first, second) =>
      this.#isAllowed(action, first ?? "", second ?? "") ? constants.SQLITE_OK : constants.SQLITE_DENY,
    );
  }

  /**
   * Runs a query.
   * @param most rows that are read
   * @throws QueryError when it is not a query, needs too much, or fails
   */
  run(sql: string, most: number): Result {
    const text = checkText(sql);
    return attempt(() => {
      checkPlan(text, this.#plan(text), this.#sizes);
      const statement = this.#connection.prepare(text);
      statement.setReturnArrays(true);
      const rows: Value[][] = [];
      for (const row of statement.iterate() as Iterable<Value[]>) {
        if (rows.length === most) return { columns: namesOf(statement), rows, more: true };
        rows.push(row.map(toPlain));
      }
      return { columns: namesOf(statement), rows, more: false };
    });
  }

  /** @throws QueryError */
  explain(sql: string): string[] {
    const text = checkText(sql);
    return attempt(() => this.#plan(text).map(({ detail }) => detail));
  }

  close(): void {
    this.#connection.close();
  }

  #isAllowed(action: number, first: string, second: string): boolean {
    if (action === constants.SQLITE_SELECT) return true;
    if (action === constants.SQLITE_FUNCTION) return FUNCTIONS.has(second.toLowerCase());
    if (action !== constants.SQLITE_READ) return false;
    // A read of no column has the name of a table or of a common table expression.
    return this.#sizes.has(first.toLowerCase()) || (second === "" && !OTHER_TABLES.test(first));
  }

  #plan(text: string): PlanRow[] {
    return this.#connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as PlanRow[];
  }
}

/** The SQL that makes a database. */
export function renderScript(family: Family, rows: Record<string, Value[][]>): string {
  return family.tables
    .map(({ name, columns }) => {
      const values = (rows[name] ?? []).map((row) => `(${row.map(renderValue).join(", ")})`);
      return `CREATE TABLE ${name} (${columns.map((column) => column.join(" ")).join(", ")});\nINSERT INTO ${name} VALUES\n${values.join(",\n")};\n`;
    })
    .join("");
}

function renderValue(value: Value): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value ?? "NULL");
}

function namesOf(statement: { columns(): { name: string }[] }): string[] {
  return statement.columns().map(({ name }) => name);
}

/** JSON has no bytes and no infinity. */
function toPlain(value: unknown): Value {
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : (value as Value);
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof QueryError) throw error;
    throw new QueryError(explainError(error));
  }
}

function explainError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // SQLite's words for a program beyond its limit.
  if (message === "out of memory") return "the query is too long when its subqueries are put in their places";
  if (!/not authorized|prohibited|authorization denied/.test(message)) return message;
  return `${message}: only SELECT on the tables of this database is allowed, with these functions: ${[...FUNCTIONS].join(", ")}`;
}
