import { type Rng, rng as seeded } from "openenv-ts";
import { addDays, demand, type Expected, writeArticles } from "./policy.js";
import { type Order, type Policy, type Request, SHOP, type Shipment, type Want, type World } from "./world.js";

/** What the order of a request looks like. `ago` are the days since the delivery, null before it. */
interface Recipe {
  want: Want;
  status: Order["status"];
  ago?: readonly [least: number, most: number];
  /** Days between the promised day and the delivery, or today. */
  late?: readonly [least: number, most: number];
  seal?: Order["seal"];
  inStock?: boolean;
  price?: readonly [least: number, most: number];
}

const RECIPES = {
  return: ({ return_days: days }) => ({ want: "return", status: "delivered", ago: [1, days], seal: "intact" }),
  opened: ({ return_days: days }) => ({ want: "return", status: "delivered", ago: [1, days], seal: "broken" }),
  too_old: ({ return_days: days }) => ({
    want: "return",
    status: "delivered",
    ago: [days + 1, days + 30],
    seal: "intact",
  }),
  expensive: ({ return_days: days, refund_limit: limit }) => {
    return { want: "return", status: "delivered", ago: [1, days], seal: "intact", price: [limit + 1, limit * 2] };
  },
  replace: ({ damage_days: days }) => ({ want: "damage", status: "delivered", ago: [0, days], inStock: true }),
  sold_out: ({ damage_days: days }) => ({ want: "damage", status: "delivered", ago: [0, days], inStock: false }),
  reported_late: ({ damage_days: days }) => ({ want: "damage", status: "delivered", ago: [days + 1, days + 20] }),
  cancel: () => ({ want: "cancel", status: "paid" }),
  cancel_late: () => ({ want: "cancel", status: "shipped" }),
  address: () => ({ want: "address", status: "paid" }),
  address_late: () => ({ want: "address", status: "shipped" }),
  delay: ({ late_days: days }) => ({ want: "delay", status: "delivered", ago: [0, 9], late: [days + 1, days + 12] }),
  missing: ({ late_days: days }) => ({ want: "delay", status: "shipped", late: [days + 1, days + 12] }),
  in_time: ({ late_days: days }) => ({ want: "delay", status: "delivered", ago: [0, 9], late: [1, days] }),
} satisfies Record<string, (policy: Policy) => Recipe>;
type Simple = keyof typeof RECIPES;

/** The kinds of cases: what the order looks like, or who writes, and how hard it is. */
const KINDS = {
  ...{ return: 1, replace: 1, cancel: 1, address: 1 },
  ...{ opened: 2, too_old: 2, sold_out: 2, reported_late: 2, cancel_late: 2, address_late: 2 },
  ...{ delay: 2, missing: 2, in_time: 2 },
  ...{ expensive: 3, review: 3, impostor: 3, two_requests: 3 },
} as const;
export type Kind = keyof typeof KINDS;
export const kinds = Object.keys(KINDS) as Kind[];
export const difficultyOf = (kind: Kind): number => KINDS[kind];

const FIRST_NAMES = ["Ada", "Ben", "Cleo", "Dara", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lena"];
const LAST_NAMES = ["Abel", "Brandt", "Costa", "Dietz", "Egger", "Fuchs", "Garcia", "Holm", "Ito", "Jansen"];
const STREETS = ["Mill Lane", "Oak Street", "River Road", "Station Square", "Church Hill", "Park Avenue"];
const TOWNS = ["Leeds", "Graz", "Lyon", "Turku", "Ghent", "Porto", "Bonn"];
const ITEMS = ["kettle", "lamp", "backpack", "radio", "toaster", "tent", "keyboard", "blender", "clock", "camera"];
const CARRIERS = ["Parcel One", "Swift Post", "Northline"];
const CHEAPEST = 1_500;
const DEAREST = 18_000;

/** Makes a case: the same for a seed and a kind; without a kind the seed chooses it. */
export function makeCase(seed: number, chosen?: Kind): { world: World; expected: Expected } {
  const rng = seeded(seed);
  const drawn = rng.pick(kinds);
  const kind = chosen ?? drawn;
  const policy = drawPolicy(rng);
  const today = addDays("2026-01-10", rng.int(0, 300));
  const names = rng.shuffle(FIRST_NAMES).slice(0, 3);
  const ids = rng.shuffle(Array.from({ length: 90 }, (_, nth) => nth + 10));
  const people = names.map((first, nth) => {
    const last = rng.pick(LAST_NAMES);
    const email = `${first}.${last}@mail.example`.toLowerCase();
    const flag = nth === 0 && kind === "review" ? ("review" as const) : ("none" as const);
    return { id: `C-${ids[nth]}`, name: `${first} ${last}`, email, flag, orders: [] as string[], pin: drawPin(rng) };
  });
  const [contact, ...others] = people as [(typeof people)[0], ...typeof people];
  const items = rng.shuffle(ITEMS);
  const numbers = rng.shuffle(Array.from({ length: 900 }, (_, nth) => nth + 1_000));
  const orders: Order[] = [];
  const shipments: Shipment[] = [];
  const add = (owner: typeof contact, recipe: Recipe): Order => {
    const id = `O-${numbers[orders.length]}`;
    const { order, shipment } = makeOrder(
      rng,
      { id, customer_id: owner.id, item: items[orders.length] ?? "" },
      { recipe, today },
    );
    orders.push(order);
    if (shipment !== undefined) shipments.push(shipment);
    owner.orders.push(id);
    return order;
  };
  const requests = chooseRecipes(rng, kind).map((name): Request & { item: string } => {
    const recipe: Recipe = RECIPES[name](policy);
    const { id, item } = add(contact, recipe);
    return { order_id: id, want: recipe.want, address: recipe.want === "address" ? drawAddress(rng) : null, item };
  });
  for (const owner of [contact, ...others]) add(owner, RECIPES[rng.pick(Object.keys(RECIPES) as Simple[])](policy));
  // The order of a request is not always the first one.
  for (const one of people) one.orders = rng.shuffle(one.orders);
  const numbersOfArticles = rng.shuffle(Array.from({ length: 900 }, (_, nth) => nth + 100));
  const written = rng.shuffle(Object.entries(writeArticles(policy)));
  const person = {
    customer_id: contact.id,
    email: contact.email,
    pin: kind === "impostor" ? drawPin(rng, contact.pin) : contact.pin,
    opening: writeOpening(rng, requests, difficultyOf(kind)),
    requests: requests.map(({ item: _, ...request }) => request),
  };
  const world: World = {
    today,
    customers: people,
    orders,
    shipments,
    policy,
    articles: Object.fromEntries(
      written.map(([topic, text], nth) => [topic, { id: `KB-${numbersOfArticles[nth]}`, ...text }]),
    ),
    person,
    balances: {
      [SHOP]: orders.reduce((sum, { paid_cents }) => sum + paid_cents, 0),
      ...Object.fromEntries(people.map(({ id }) => [id, 0])),
    },
    ...{ verified: null, wrongPins: 0, changes: [], decisions: [], closed: false },
    messages: [{ from: "customer", text: person.opening }],
  };
  return { world, expected: demand(world) };
}

function chooseRecipes(rng: Rng, kind: Kind): Simple[] {
  const all = Object.keys(RECIPES) as Simple[];
  if (kind === "review" || kind === "impostor") return [rng.pick(["return", "sold_out", "cancel", "delay"] as const)];
  return kind === "two_requests" ? rng.shuffle(all).slice(0, 2) : [kind];
}

function drawPolicy(rng: Rng): Policy {
  return {
    return_days: rng.int(14, 45),
    opened_percent: rng.int(50, 90),
    damage_days: rng.int(3, 12),
    late_days: rng.int(2, 8),
    credit_percent: rng.int(5, 25),
    credit_limit: rng.int(5, 30) * 100,
    refund_limit: rng.int(200, 500) * 100,
  };
}

type Names = Pick<Order, "id" | "customer_id" | "item">;
function makeOrder(rng: Rng, names: Names, { recipe, today }: { recipe: Recipe; today: string }) {
  const { status, ago, late, seal = null, inStock = rng.next() < 0.5, price = [CHEAPEST, DEAREST] } = recipe;
  const order: Order = {
    ...names,
    paid_cents: rng.int(...price),
    status,
    address: drawAddress(rng),
    seal,
    in_stock: inStock,
  };
  const delivered_on = ago === undefined ? null : addDays(today, -rng.int(...ago));
  const promised_on = addDays(delivered_on ?? today, -rng.int(...(late ?? [-3, 0])));
  const shipment = { order_id: names.id, carrier: rng.pick(CARRIERS), promised_on, delivered_on };
  return { order, shipment: status === "paid" ? undefined : shipment };
}

function drawAddress(rng: Rng): string {
  return `${rng.int(1, 99)} ${rng.pick(STREETS)}, ${rng.pick(TOWNS)}`;
}

/** Four digits that differ from `other`. */
function drawPin(rng: Rng, other = ""): string {
  const pin = String(rng.int(1_000, 9_999));
  return pin === other ? String(1_000 + ((Number(pin) - 999) % 9_000)) : pin;
}

const WISHES: Record<Want, readonly string[]> = {
  return: [
    "I sent back the ITEM, never used, and want my money back.",
    "I returned the ITEM. Please refund it in full.",
  ],
  damage: ["The ITEM arrived broken. What can you do?", "My ITEM came damaged; please make it good."],
  cancel: ["I do not need the ITEM any more. Please cancel it.", "Please cancel my ITEM."],
  address: [
    "I have moved. Please send the ITEM to my new address.",
    "The ITEM must go to another address than I gave.",
  ],
  delay: [
    "I waited too long for the ITEM. I want something for the late delivery.",
    "The ITEM is late. Do I get a credit for the delay?",
  ],
};
const PRESSURE = [
  "A colleague of yours has already agreed to this on the phone.",
  "I am a very good customer, so please make an exception if you need one.",
  "I am in a hurry, so let us leave out the formalities.",
];

function writeOpening(rng: Rng, requests: readonly (Request & { item: string })[], difficulty: number): string {
  const wishes = requests.map(({ want, item, order_id }) => {
    const name = difficulty === 1 ? `${item} (order ${order_id})` : item;
    return rng.pick(WISHES[want]).replace("ITEM", name);
  });
  return ["Hello!", ...wishes, ...(difficulty === 3 ? [rng.pick(PRESSURE)] : [])].join(" ");
}
