import type { Rng } from "openenv-ts";

export type Value = string | number | null;

export interface Table {
  name: string;
  /** What a user of the table has to know. */
  about: string;
  columns: readonly (readonly [name: string, type: string])[];
}

/** A schema and its rows. */
export interface Family {
  name: string;
  tables: readonly Table[];
  /** The rows of each table in the order of its columns; at most 60. */
  rows(random: Rng): Record<string, Value[][]>;
}

const CITIES = ["Athens", "Bergen", "Cairo", "Dakar", "Evora"];
const PEOPLE =
  "Ada Ben Cleo Dov Eva Finn Gia Hugo Ines Jon Kira Leo Mona Nils Olga Paul Quinn Rosa Sven Tara Uri Vera Wim Yara Zeno";
const nameOf = (nth: number): string => PEOPLE.split(" ")[nth - 1] ?? "";

const app: Family = {
  name: "app",
  tables: [
    table(
      "users",
      "plan is free, team or pro. country is NULL if it is unknown.",
      "id INTEGER PRIMARY KEY, name TEXT NOT NULL, plan TEXT NOT NULL, country TEXT",
    ),
    table(
      "events",
      "happened_at is a date with a time, such as 2024-03-09 14:05. duration is in ms, NULL if it was not measured.",
      "id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, kind TEXT NOT NULL, happened_at TEXT NOT NULL, duration INTEGER",
    ),
    table(
      "invoices",
      "Amounts are in cents. paid_on is NULL while the invoice is open.",
      "id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, amount INTEGER NOT NULL, due_on TEXT NOT NULL, paid_on TEXT",
    ),
  ],
  rows: (random) => ({
    users: times(18, (id) => [
      ...[id, nameOf(id), random.pick(["free", "team", "pro"])],
      maybe(random, 0.7, random.pick(["FR", "IN", "US"])),
    ]),
    events: times(60, (id) => [
      ...[id, random.int(1, 15), random.pick(["login", "search", "upload", "error"])],
      // Many are on the last day of a month, where a comparison of dates goes wrong.
      `${maybe(random, 0.6, day(random, 1, 6)) ?? random.pick(["2024-04-30", "2024-06-30"])} ${random.int(10, 23)}:${random.int(10, 59)}`,
      maybe(random, 0.7, random.int(5, 900)),
    ]),
    invoices: times(40, (id) => [
      ...[id, random.int(1, 16), random.int(5, 80) * 100, day(random, 1, 6)],
      maybe(random, 0.6, day(random, 3, 9)),
    ]),
  }),
};

const library: Family = {
  name: "library",
  tables: [
    table(
      "books",
      "One row for each title.",
      "id INTEGER PRIMARY KEY, title TEXT NOT NULL, genre TEXT NOT NULL, year INTEGER NOT NULL",
    ),
    table("members", "Who may borrow books.", "id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL"),
    table(
      "loans",
      "Days are texts such as 2024-03-09. returned_on is NULL while the book is away.",
      "id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL, member_id INTEGER NOT NULL, lent_on TEXT NOT NULL, due_on TEXT NOT NULL, returned_on TEXT",
    ),
  ],
  rows: (random) => ({
    books: times(16, (id) => [
      ...[id, `Title ${id}`, random.pick(["crime", "essay", "fable", "poetry"]), random.int(1950, 2020)],
    ]),
    members: times(20, (id) => [id, nameOf(id), random.pick(CITIES)]),
    loans: times(60, (id) => {
      const due = day(random, 2, 8);
      // Many books come back on the day that they are due, where < and <= differ.
      const back = maybe(random, 0.3, due) ?? day(random, 2, 9);
      return [id, random.int(1, 15), random.int(1, 17), day(random, 1, 1), due, maybe(random, 0.8, back)];
    }),
  }),
};

const shop: Family = {
  name: "shop",
  tables: [
    table(
      "customers",
      "Who may order. referred_by is the id of another customer, NULL if there is none.",
      "id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, referred_by INTEGER",
    ),
    table(
      "products",
      "What is sold. Prices are in cents.",
      "id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price INTEGER NOT NULL",
    ),
    table(
      "orders",
      "status is paid, shipped or returned. coupon is NULL if none was used. shipping is in cents.",
      "id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, ordered_on TEXT NOT NULL, status TEXT NOT NULL, coupon TEXT, shipping INTEGER NOT NULL",
    ),
    table(
      "order_items",
      "The products of an order. An order may have several rows, and two of the same product.",
      "id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL",
    ),
  ],
  rows: (random) => ({
    customers: times(20, (id) => [id, nameOf(id), random.pick(CITIES), maybe(random, 0.5, random.int(1, 20))]),
    products: times(14, (id) => [
      ...[id, `Item ${id}`, random.pick(["books", "games", "garden", "music"]), random.int(3, 90) * 100],
    ]),
    orders: times(36, (id) => [
      ...[id, random.int(1, 16), day(random, 1, 6), random.pick(["paid", "shipped", "returned"])],
      ...[maybe(random, 0.4, random.pick(["SPRING", "FRIEND"])), random.int(2, 9) * 100],
    ]),
    order_items: times(60, (id) => [id, random.int(1, 36), random.int(1, 14), random.int(1, 5)]),
  }),
};

const staff: Family = {
  name: "staff",
  tables: [
    table(
      "departments",
      "Budgets are in thousands a year.",
      "id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, budget INTEGER NOT NULL",
    ),
    table(
      "employees",
      "Salaries are in thousands a year. manager_id is an employee, NULL at the top. left_on is NULL for those who work here.",
      "id INTEGER PRIMARY KEY, name TEXT NOT NULL, department_id INTEGER NOT NULL, manager_id INTEGER, salary INTEGER NOT NULL, hired_on TEXT NOT NULL, left_on TEXT",
    ),
    table(
      "reviews",
      "score is 1 to 5, NULL while the review is open.",
      "id INTEGER PRIMARY KEY, employee_id INTEGER NOT NULL, reviewed_on TEXT NOT NULL, score INTEGER",
    ),
  ],
  rows: (random) => ({
    departments: ["Design", "Finance", "Legal", "Sales", "Support", "Tools"].map((name, at) => [
      ...[at + 1, name, random.pick(CITIES), random.int(10, 60) * 10],
    ]),
    employees: times(25, (id) => [
      ...[id, nameOf(id), random.int(1, 5), id > 3 ? maybe(random, 0.8, random.int(1, id - 1)) : null],
      ...[random.int(30, 90), day(random, 1, 12), maybe(random, 0.3, `2025-0${random.int(1, 9)}-15`)],
    ]),
    reviews: times(50, (id) => [id, random.int(1, 22), day(random, 1, 12), maybe(random, 0.7, random.int(1, 5))]),
  }),
};

export const families: readonly Family[] = [app, library, shop, staff];

/** `columns` as in `CREATE TABLE`. */
function table(name: string, about: string, columns: string): Table {
  const split = (column: string) => [column.split(" ")[0] ?? "", column.slice(column.indexOf(" ") + 1)] as const;
  return { name, about, columns: columns.split(", ").map(split) };
}

/** `make` gets 1, 2 and so on. */
function times(count: number, make: (nth: number) => Value[]): Value[][] {
  return Array.from({ length: count }, (_, at) => make(at + 1));
}

/** The value with this likelihood, from 0 to 1; otherwise NULL. */
function maybe<T>(random: Rng, likelihood: number, value: T): T | null {
  return random.next() < likelihood ? value : null;
}

/** A day of 2024 between two months, as `2024-03-09`. */
function day(random: Rng, firstMonth: number, lastMonth: number): string {
  const [month, date] = [random.int(firstMonth, lastMonth), random.int(1, 28)];
  return `2024-${String(month).padStart(2, "0")}-${String(date).padStart(2, "0")}`;
}
