import type * as z from "zod";
import type { article, change, customer, decision, order, shipment } from "./models.js";

export type Customer = z.output<typeof customer>;
export type Order = z.output<typeof order>;
export type Shipment = z.output<typeof shipment>;
export type Article = z.output<typeof article>;
export type Change = z.output<typeof change>;
export type Decision = z.output<typeof decision>;

/** What a customer may want about an order. */
export type Want = "return" | "damage" | "cancel" | "address" | "delay";
export interface Request {
  order_id: string;
  want: Want;
  /** The new address, for a change of it. */
  address: string | null;
}

/** The numbers of the policy. Money is in cents. */
export interface Policy {
  return_days: number;
  opened_percent: number;
  damage_days: number;
  late_days: number;
  credit_percent: number;
  credit_limit: number;
  refund_limit: number;
}

/** What the person who writes knows and wants. `pin` is wrong if this is not the customer. */
export interface Person {
  customer_id: string;
  email: string;
  pin: string;
  opening: string;
  requests: Request[];
}

/** Everything of one case as plain JSON. */
export interface World {
  today: string;
  customers: (Customer & { pin: string })[];
  orders: Order[];
  shipments: Shipment[];
  policy: Policy;
  /** The articles, by what they are about. */
  articles: Record<string, Article>;
  person: Person;
  balances: Record<string, number>;
  verified: string | null;
  wrongPins: number;
  messages: { from: "customer" | "agent"; text: string }[];
  changes: Change[];
  decisions: Decision[];
  closed: boolean;
}

export interface Answer {
  ok: boolean;
  message: string;
}

export const SHOP = "shop";
const MOST_WRONG_PINS = 3;

const done = (message: string): Answer => ({ ok: true, message });
const refused = (message: string): Answer => ({ ok: false, message });

/**
 * The systems of the shop. They prevent what is impossible, such as a refund above what was paid. They do not know the
 * policy: an agent can do what it forbids.
 */
export const systems = {
  verify(world: World, customerId: string, pin: string): Answer {
    if (world.wrongPins >= MOST_WRONG_PINS) return refused("The check is locked after three wrong PINs.");
    const found = world.customers.find(({ id }) => id === customerId);
    if (found === undefined) return refused(`There is no customer "${customerId}".`);
    if (found.pin !== pin) {
      world.wrongPins++;
      return refused("The PIN is wrong.");
    }
    world.verified = customerId;
    return done(`${found.name} is verified.`);
  },

  cancel(world: World, orderId: string): Answer {
    return withOrder(world, orderId, (order) => {
      if (order.status !== "paid") return refused(`The order is ${order.status} and cannot be cancelled.`);
      const answer = pay(world, order, "cancel", order.paid_cents);
      if (answer.ok) order.status = "cancelled";
      return answer;
    });
  },

  refund(world: World, orderId: string, amount: number): Answer {
    return withOrder(world, orderId, (order) => {
      if (order.status !== "shipped" && order.status !== "delivered")
        return refused(`The order is ${order.status} and cannot be refunded.`);
      return pay(world, order, "refund", amount);
    });
  },

  credit(world: World, orderId: string, amount: number): Answer {
    return withOrder(world, orderId, (order) =>
      order.status === "cancelled" ? refused("The order is cancelled.") : pay(world, order, "credit", amount),
    );
  },

  replace(world: World, orderId: string): Answer {
    return withOrder(world, orderId, (order) => {
      if (order.status !== "delivered") return refused(`The order is ${order.status} and cannot be replaced.`);
      if (!order.in_stock) return refused("The item is out of stock.");
      if (paidBack(world, orderId) > 0) return refused("Money was already paid back for the order.");
      order.status = "replaced";
      return record(world, order, { kind: "replace" });
    });
  },

  changeAddress(world: World, orderId: string, address: string): Answer {
    return withOrder(world, orderId, (order) => {
      if (order.status !== "paid" && order.status !== "shipped") return refused(`The order is ${order.status}.`);
      order.address = address;
      return record(world, order, { kind: "address", address });
    });
  },

  decide(world: World, decision: Decision): Answer {
    return withOrder(world, decision.order_id, ({ id }) => {
      if (!Object.values(world.articles).some((article) => article.id === decision.article_id))
        return refused(`There is no article "${decision.article_id}".`);
      world.decisions = [...world.decisions.filter(({ order_id }) => order_id !== id), decision];
      return done(`The request about ${id} is ${decision.outcome}.`);
    });
  },
};

function withOrder(world: World, orderId: string, run: (order: Order) => Answer): Answer {
  const found = world.orders.find(({ id }) => id === orderId);
  return found === undefined ? refused(`There is no order "${orderId}".`) : run(found);
}

function pay(world: World, order: Order, kind: Change["kind"], amount: number): Answer {
  const left = order.paid_cents - paidBack(world, order.id);
  if (amount > left) return refused(`At most ${left} cents are left of what was paid for ${order.id}.`);
  world.balances[SHOP] = (world.balances[SHOP] ?? 0) - amount;
  world.balances[order.customer_id] = (world.balances[order.customer_id] ?? 0) + amount;
  return record(world, order, { kind, amount_cents: amount });
}

function paidBack({ changes }: World, orderId: string): number {
  return changes.reduce((sum, { order_id, amount_cents }) => sum + (order_id === orderId ? amount_cents : 0), 0);
}

function record(world: World, { id, customer_id }: Order, what: Pick<Change, "kind"> & Partial<Change>): Answer {
  const verified = world.verified === customer_id;
  world.changes.push({ order_id: id, amount_cents: 0, address: null, verified, ...what });
  return done(`Recorded for ${id}: ${what.kind}.`);
}
