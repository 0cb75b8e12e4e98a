import { type Desk, type Policy, readPolicy } from "./policy.js";

type Order = NonNullable<Awaited<ReturnType<Desk["tools"]["get_order"]>>["data"]["order"]>;
type Decision = readonly ["approved" | "denied" | "escalated", article: string];

const WANTS = {
  address: /address/,
  cancel: /cancel/,
  return: /sent back|returned/,
  damage: /broken|damaged/,
  delay: /late|delay/,
};
type Want = keyof typeof WANTS;

interface Request {
  order: Order;
  want: Want;
}

/** Answers one case by the articles that it reads, and returns the reward. */
export async function answerCase(env: Desk, task: { split: string; index: number }): Promise<number> {
  const { today, email, message } = (await env.reset(task)).observation;
  const policy = await readPolicy(env);
  const { customer } = (await env.tools.find_customer({ email })).data;
  if (customer === null) throw new Error(`there is no customer ${email}`);
  const requests = findRequests(message, await readOrders(env, customer.orders));
  const text = "Please write your PIN, and the new address if you want one.";
  const { reply } = (await env.tools.message_customer({ text })).data;
  const pin = /PIN is (\d+)/.exec(reply)?.[1] ?? "";
  const addresses = [...reply.matchAll(/address is: (.*)/g)].map(([, address = ""]) => address);
  const isVerified = (await env.tools.verify_identity({ customer_id: customer.id, pin })).data.ok;
  for (const { order, want } of requests) {
    const decide = async (): Promise<Decision> => {
      if (!isVerified) return ["denied", policy.identity];
      if (customer.flag === "review") return ["escalated", policy.review];
      const address = want === "address" ? (addresses.shift() ?? "") : "";
      return await handle(env, { policy, today, order, want, address });
    };
    const [outcome, article_id] = await decide();
    await env.tools.decide_request({ order_id: order.id, outcome, article_id });
  }
  const last = await env.tools.message_customer({ text: "I have handled it by our policy. Goodbye!", close: true });
  return Number(last.reward);
}

async function readOrders({ tools }: Desk, ids: readonly string[]): Promise<Order[]> {
  const orders: Order[] = [];
  for (const order_id of ids) {
    const { order } = (await tools.get_order({ order_id })).data;
    if (order !== null) orders.push(order);
  }
  return orders;
}

/** A wish is a sentence with an item and the sentences after it; those before the first one say hello. */
function findRequests(message: string, orders: readonly Order[]): Request[] {
  const wishes: { order: Order; text: string }[] = [];
  for (const sentence of message.split(/(?<=[.!?]) /)) {
    const order = orders.find(({ item }) => sentence.includes(item));
    const last = wishes.at(-1);
    if (order !== undefined) wishes.push({ order, text: sentence });
    else if (last !== undefined) last.text += ` ${sentence}`;
  }
  return wishes.map(({ order, text }) => {
    const want = (Object.keys(WANTS) as Want[]).find((name) => WANTS[name].test(text));
    if (want === undefined) throw new Error(`the script does not understand "${text}"`);
    return { order, want };
  });
}

interface Work extends Request {
  policy: Policy;
  today: string;
  address: string;
}

/** Does what an article demands. */
async function handle({ tools }: Desk, { policy, today, order, want, address }: Work): Promise<Decision> {
  const { id: order_id, paid_cents, status } = order;
  const { id } = policy[want];
  const { shipment } = (await tools.get_shipment({ order_id })).data;
  const age = shipment?.delivered_on ? daysBetween(shipment.delivered_on, today) : Number.POSITIVE_INFINITY;
  const refund = async (amount_cents: number): Promise<Decision> => {
    if (amount_cents > policy.limit.cents) return ["escalated", policy.limit.id];
    await tools.refund_order({ order_id, amount_cents });
    return ["approved", id];
  };
  if (want === "return" && age <= policy.return.days) {
    return await refund(order.seal === "intact" ? paid_cents : Math.floor((paid_cents * policy.return.percent) / 100));
  }
  if (want === "damage" && age <= policy.damage.days) {
    if (!order.in_stock) return await refund(paid_cents);
    await tools.replace_order({ order_id });
    return ["approved", id];
  }
  if (want === "cancel" && status === "paid") {
    await tools.cancel_order({ order_id });
    return ["approved", id];
  }
  if (want === "address" && status === "paid") {
    await tools.change_address({ order_id, address });
    return ["approved", id];
  }
  const late = shipment ? daysBetween(shipment.promised_on, shipment.delivered_on ?? today) : 0;
  if (want === "delay" && late > policy.delay.days) {
    const { percent, cents } = policy.delay;
    await tools.issue_credit({ order_id, amount_cents: Math.min(cents, Math.floor((paid_cents * percent) / 100)) });
    return ["approved", id];
  }
  return ["denied", id];
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
}
