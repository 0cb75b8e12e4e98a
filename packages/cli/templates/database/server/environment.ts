import { defineEnvironment, type Rng } from "openenv-ts";
import { contract } from "../models.js";
import { CITIES, fill, ITEMS, openDatabase, query, type Result, TABLES } from "./database.js";

const MAX_STATEMENTS = 5;

/** A question, and a statement whose result is the answer. */
function ask(rng: Rng): { question: string; solution: string } {
  const [city, item] = [rng.pick(CITIES), rng.pick(ITEMS)];
  const join = "FROM orders JOIN customers ON customers.id = orders.customer";
  return rng.pick([
    { question: `How many orders come from ${city}?`, solution: `SELECT count(*) ${join} WHERE city = '${city}'` },
    { question: "Who paid how much? Rows: name, sum.", solution: `SELECT name, sum(price) ${join} GROUP BY name` },
    { question: `Who ordered a ${item}? Rows: name.`, solution: `SELECT DISTINCT name ${join} WHERE item = '${item}'` },
  ]);
}

/** Each call of this function is one session, and so is each database. */
export default defineEnvironment(
  contract,
  ({ resources: { db } }) => {
    let question = "";
    let answer = "";
    let statements: string[] = [];
    let over = false;
    return {
      reset: ({ rng }) => {
        fill(db, rng);
        const asked = ask(rng);
        question = asked.question;
        answer = normalize(query(db, asked.solution));
        statements = [];
        over = false;
        return { observation: { question, tables: TABLES, rows: [] } };
      },
      step: ({ sql }) => {
        const seen = { question, tables: TABLES };
        if (over) return { observation: { ...seen, rows: [], message: "The episode is over; reset it." }, done: true };
        statements.push(sql);
        const result = query(db, sql);
        const correct = normalize(result) === answer;
        over = correct || statements.length === MAX_STATEMENTS;
        const message = correct ? "Correct." : "This is not the answer.";
        return { observation: { ...seen, message, ...result }, reward: correct ? 1 : 0, done: over };
      },
      state: () => ({ statements }),
    };
  },
  {
    seeded: true,
    sharesState: "no",
    // Spares are open before their sessions begin.
    resources: { db: { open: openDatabase, close: (db) => db.close(), scope: "session", spares: 4 } },
  },
);

/** Neither the order of the rows nor the names of the columns count. */
function normalize(result: Result): string {
  return JSON.stringify({ ...result, rows: result.rows.map((row) => JSON.stringify(row)).sort() });
}
