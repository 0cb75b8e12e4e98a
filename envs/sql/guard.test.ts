import { afterAll, describe, expect, test } from "vitest";
import { Database } from "./database.js";
import { type Family, families } from "./families.js";

const database = new Database(families[2] as Family, 5);
afterAll(() => database.close());
const run = (sql: string) => database.run(sql, 30);

describe("a query of an agent", () => {
  test.each<[string, RegExp]>([
    [
      "DELETE FROM orders",
      /not authorized: only SELECT on the tables of this database is allowed, with these functions: abs,/,
    ],
    ["UPDATE orders SET status = 'paid'", /not authorized/],
    ["INSERT INTO orders SELECT * FROM orders", /not authorized/],
    ["CREATE TABLE mine (x)", /only SELECT on the tables/],
    ["PRAGMA table_info(orders)", /only SELECT on the tables/],
    ["ATTACH 'x.db' AS x", /only SELECT on the tables/],
    ["VACUUM INTO 'x.db'", /only SELECT on the tables/],
    ["EXPLAIN SELECT 1", /syntax error/],
    ["SELECT load_extension('x')", /not authorized|no such function/],
    ["SELECT * FROM pragma_database_list", /not authorized|prohibited/],
    ["SELECT COUNT(*) FROM json_each('[1]')", /not authorized|prohibited/],
    ["SELECT sql FROM sqlite_master", /prohibited/],
    ["SELECT name FROM sqlite_schema", /prohibited/],
    ["SELECT date('now')", /not authorized to use function: date/],
    ["SELECT CURRENT_TIMESTAMP", /not authorized to use function: CURRENT_TIMESTAMP/],
    ["SELECT random()", /not authorized to use function: random/],
    ["SELECT hex(zeroblob(1000000000))", /not authorized to use function/],
    ["SELECT 1; SELECT 2", /only one statement/],
    ["", /empty/],
    [";", /empty/],
    ["-- nothing", /incomplete input|syntax error/],
    ["SELECT color FROM orders", /no such column: color/],
    ["SELECT 9223372036854775807", /too large/],
  ])("is refused: %s", (sql, reason) => {
    expect(() => run(sql)).toThrow(reason);
  });

  test("is refused with a character that would end it", () => {
    expect(() => run("SELECT 1\0")).toThrow(/NUL/);
  });

  const sums = (count: number): string => Array(count).fill("a").join(" + ");
  const nest = (levels: number, count: number): string =>
    levels === 0 ? "SELECT id AS a FROM orders" : `SELECT ${sums(count)} AS a FROM (${nest(levels - 1, count)})`;
  const products = Array(40).fill("a.id * b.id").join(" + ");
  test.each<[string, string, RegExp]>([
    ["recursion", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c", /not authorized/],
    ["four tables", "SELECT COUNT(*) FROM orders a, orders b, orders c, orders d", /loops over rows/],
    [
      "four in one another",
      "SELECT (SELECT COUNT(*) FROM orders b, orders c WHERE b.id > a.id AND EXISTS (SELECT 1 FROM orders d WHERE d.id > c.id)) FROM orders a",
      /loops over rows/,
    ],
    [
      "long expressions in many loops",
      `SELECT SUM(${products}), SUM(${products}), SUM(${products}) FROM order_items a, order_items b, orders c`,
      /loops over rows/,
    ],
    [
      "a small table's name for a large one",
      `SELECT COUNT(*) FROM order_items AS "products a", order_items AS "products b", order_items AS "products c", orders`,
      /loops over rows/,
    ],
    [
      "a table's name for a subquery",
      "WITH products AS (SELECT a.id FROM orders a, orders b) SELECT COUNT(*) FROM products, products p, products q",
      /loops over rows/,
    ],
    [
      "a list of ids",
      `SELECT COUNT(*) FROM orders a, orders b, orders c JOIN orders d ON d.id IN (a.id, b.id, 3, 4, 5)`,
      /loops over rows/,
    ],
    [
      "many values",
      `WITH v AS (VALUES ${Array(500).fill("(1)").join(",")}) SELECT COUNT(*) FROM v a, v b, v c`,
      /loops over rows/,
    ],
    [
      "a window in a large product",
      "SELECT MAX(a.id) OVER (ORDER BY a.id ROWS 5 PRECEDING) FROM orders a, orders b, order_items c, products d",
      /loops over rows/,
    ],
    [
      "the square of the rows of a window",
      "SELECT MAX(id) OVER (ORDER BY id ROWS 5 PRECEDING EXCLUDE TIES) FROM orders",
      /EXCLUDE/,
    ],
    ["expressions that double", nest(11, 3), /too many names/],
    ["expressions in expressions", nest(4, 25), /too many names/],
    ["a large program", nest(3, 40), /too long/],
    ["many SELECTs", nest(13, 1), /at most 12 SELECTs/],
    ["a long pattern", `SELECT COUNT(*) FROM orders WHERE status LIKE '${"%a".repeat(30)}'`, /pattern too complex/],
    ["a large text", `SELECT LENGTH(a || a || a || a) FROM (SELECT '${"x".repeat(600)}' AS a)`, /too big/],
  ])("is refused before it runs long: %s", (_, sql, reason) => {
    expect(() => run(sql)).toThrow(reason);
  });

  test.each<[string, unknown[][]]>([
    ["SELECT COUNT(*) FROM order_items a, order_items b, order_items c", [[216_000]]],
    [
      "WITH t AS (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY 1) SELECT COUNT(*) FROM t a JOIN t b ON a.n = b.n AND a.n > 99",
      [[0]],
    ],
    [
      "VALUES (1, 'it''s; -- no end'), (2, NULL);",
      [
        [1, "it's; -- no end"],
        [2, null],
      ],
    ],
    ['SELECT "name" FROM customers WHERE id = 1 /* ; */', [["Ada"]]],
    ["SELECT 9e999, 1 / 0, x'ab', 1.5", [["Infinity", null, "x'ab'", 1.5]]],
    ["SELECT UPPER(SUBSTR(name, 1, 2)), LENGTH(name) FROM customers ORDER BY id LIMIT 1", [["AD", 3]]],
  ])("runs: %s", (sql, rows) => {
    expect(run(sql).rows).toEqual(rows);
  });

  test("is read up to a limit, and columns of the same name stay", () => {
    expect(run("SELECT id, id FROM order_items ORDER BY id")).toMatchObject({ columns: ["id", "id"], more: true });
    expect(run("SELECT id, id FROM order_items ORDER BY id").rows).toHaveLength(30);
  });

  test("has a plan, which runs nothing", () => {
    expect(database.explain("SELECT * FROM orders a, orders b, orders c, orders d")).toHaveLength(4);
    expect(() => database.explain("DROP TABLE orders")).toThrow(/not authorized/);
  });
});
