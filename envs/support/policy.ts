import type { Change, Decision, Order, Policy, Request, World } from "./world.js";

/** What a case must come to: who was checked, which changes were made, and which decisions recorded. */
export interface Expected {
  /** True: the customer was verified. False: the check has failed. */
  verified: boolean;
  changes: Change[];
  decisions: Decision[];
}

const DAY_MS = 86_400_000;

const euros = (cents: number): string => `EUR ${(cents / 100).toFixed(2)}`;

/** The articles that an agent reads, by what they are about: the only place where the rules and their numbers are written. */
export function writeArticles(policy: Policy): Record<string, { title: string; text: string }> {
  return {
    identity: {
      title: "Who is writing",
      text:
        "Verify the customer with the PIN before you change anything. If the PIN is wrong, change nothing and deny every " +
        "request by this article, which comes before all others.",
    },
    fraud: {
      title: "Customers under review",
      text:
        "If the record of a customer has the flag review, change nothing and escalate every request by this article. It comes " +
        "before all articles but the one on identity.",
    },
    limit: {
      title: "Large refunds",
      text:
        `A refund above ${euros(policy.refund_limit)} is not paid here: escalate the request by this article. The amount counts ` +
        "after deductions.",
    },
    return: {
      title: "Returned items",
      text:
        `Refund an item that is returned at most ${policy.return_days} days after its delivery. With an intact seal pay all back, ` +
        `with a broken seal ${policy.opened_percent} % of it, rounded down to a cent. The record of the returns desk counts, not ` +
        "what the customer says. Deny everything else.",
    },
    damage: {
      title: "Damaged items",
      text:
        `Damage must be reported at most ${policy.damage_days} days after the delivery. Replace the item if it is in stock, ` +
        "otherwise refund all that was paid. Deny later reports.",
    },
    cancel: {
      title: "Cancellations",
      text: "Cancel an order on request as long as it is not shipped. Deny it afterwards.",
    },
    address: {
      title: "Changes of address",
      text: "Change the address on request as long as the order is not shipped. Deny it afterwards, although the system allows it.",
    },
    delay: {
      title: "Late deliveries",
      text:
        `If a delivery is more than ${policy.late_days} days after the promised day, or that many days have passed without one, ` +
        `give a credit of ${policy.credit_percent} % of what was paid, rounded down to a cent, and at most ` +
        `${euros(policy.credit_limit)}. Deny everything else.`,
    },
    gift: { title: "Gift wrapping", text: "Gift wrapping is free in December. It is never refunded on its own." },
    warranty: {
      title: "Warranty",
      text: "The maker answers for defects after the first month. Send such customers to the maker.",
    },
    tone: { title: "How we write", text: "Be brief and kind. Do not promise what the policy does not allow." },
  };
}

/** Computes from the records what the policy demands. */
export function demand(world: World): Expected {
  const contact = world.customers.find(({ id }) => id === world.person.customer_id);
  const verified = contact?.pin === world.person.pin;
  const expected: Expected = { verified, changes: [], decisions: [] };
  for (const request of world.person.requests) {
    const [outcome, topic, change] = verified
      ? contact?.flag === "review"
        ? (["escalated", "fraud"] as const)
        : judge(world, request)
      : (["denied", "identity"] as const);
    const { order_id } = request;
    expected.decisions.push({ order_id, outcome, article_id: world.articles[topic]?.id ?? "" });
    if (change) expected.changes.push({ order_id, amount_cents: 0, address: null, verified: true, ...change });
  }
  return expected;
}

type Judgement = readonly [Decision["outcome"], topic: string, change?: Pick<Change, "kind"> & Partial<Change>];

function judge(world: World, { order_id, want, address }: Request): Judgement {
  const order = world.orders.find(({ id }) => id === order_id) as Order;
  const { policy, today } = world;
  const { promised_on = today, delivered_on = null } = world.shipments.find((one) => one.order_id === order_id) ?? {};
  const age = delivered_on === null ? Number.POSITIVE_INFINITY : daysBetween(delivered_on, today);
  const denied = ["denied", want] as const;
  switch (want) {
    case "cancel":
      return order.status === "paid" ? ["approved", want, { kind: "cancel", amount_cents: order.paid_cents }] : denied;
    case "address":
      return order.status === "paid" ? ["approved", want, { kind: "address", address }] : denied;
    case "return":
      if (age > policy.return_days) return denied;
      return refund(policy, want, order.seal === "intact" ? order.paid_cents : part(order, policy.opened_percent));
    case "damage":
      if (age > policy.damage_days) return denied;
      return order.in_stock ? ["approved", want, { kind: "replace" }] : refund(policy, want, order.paid_cents);
    case "delay": {
      if (daysBetween(promised_on, delivered_on ?? today) <= policy.late_days) return denied;
      const amount_cents = Math.min(part(order, policy.credit_percent), policy.credit_limit);
      return ["approved", want, { kind: "credit", amount_cents }];
    }
  }
}

function refund({ refund_limit }: Policy, topic: string, amount_cents: number): Judgement {
  return amount_cents > refund_limit ? ["escalated", "limit"] : ["approved", topic, { kind: "refund", amount_cents }];
}

function part({ paid_cents }: Order, percent: number): number {
  return Math.floor((paid_cents * percent) / 100);
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** The date so many days later. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}
