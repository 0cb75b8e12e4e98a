import { defineContract, defineTools } from "openenv-ts";
import * as z from "zod";

const LONGEST_TEXT = 2_000;
const LONGEST_NAME = 120;
const DEAREST = 10_000_000;

const given = (description: string) => z.string().max(LONGEST_NAME).describe(description);
const cents = z.int().min(0).describe("In cents");
const day = z.string().describe("A date, such as 2026-03-09");

const outcome = z.enum(["approved", "denied", "escalated"]);

export const customer = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  flag: z.enum(["none", "review"]).describe("What the fraud team has noted"),
  orders: z.array(z.string()),
});
export const order = z.object({
  id: z.string(),
  customer_id: z.string(),
  item: z.string(),
  paid_cents: cents,
  status: z.enum(["paid", "shipped", "delivered", "cancelled", "replaced"]),
  address: z.string(),
  seal: z.enum(["intact", "broken"]).nullable().describe("What the returns desk saw; null if nothing came back"),
  in_stock: z.boolean().describe("There is another one to send"),
});
export const shipment = z.object({
  order_id: z.string(),
  carrier: z.string(),
  promised_on: day,
  delivered_on: day.nullable(),
});
export const article = z.object({ id: z.string(), title: z.string(), text: z.string() });
export const change = z.object({
  kind: z.enum(["cancel", "refund", "replace", "address", "credit"]),
  order_id: z.string(),
  amount_cents: cents.describe("The money that the customer got, in cents"),
  address: z.string().nullable(),
  verified: z.boolean().describe("The identity of the customer was verified before"),
});
export const decision = z.object({ order_id: z.string(), outcome, article_id: z.string() });

const answer = z.object({ ok: z.boolean(), message: z.string().describe("What happened, or why nothing did") });
const order_id = given("Such as O-1042");
const amount_cents = z.int().min(1).max(DEAREST).describe("In cents");

/** A tool that only says whether it did something. */
const act = <I extends z.ZodObject>(description: string, input: I) => ({ description, input, output: answer });

const tools = defineTools({
  find_customer: {
    description: "Finds the record of a customer by the e-mail address.",
    input: z.object({ email: given("The whole address") }),
    output: answer.extend({ customer: customer.nullable() }),
  },
  get_order: {
    description: "Reads an order.",
    input: z.object({ order_id }),
    output: answer.extend({ order: order.nullable() }),
  },
  get_shipment: {
    description: "Reads when an order was promised and delivered.",
    input: z.object({ order_id }),
    output: answer.extend({ shipment: shipment.nullable() }),
  },
  read_policy: {
    description: "Reads an article of the policy; without article_id, the list of all articles.",
    input: z.object({ article_id: given("Such as KB-120").optional() }),
    output: answer.extend({
      articles: z.array(article.omit({ text: true })).describe("The list; empty if an article was read"),
      article: article.nullable(),
    }),
  },
  message_customer: {
    description:
      "Sends a message to the customer and returns the reply. With close, it is the last one and ends the case.",
    input: z.object({ text: z.string().min(1).max(LONGEST_TEXT), close: z.boolean().default(false) }),
    output: answer.extend({ reply: z.string().describe("Empty after the last message") }),
  },
  verify_identity: act(
    "Verifies with the PIN that the customer is who they say. Three wrong PINs lock it.",
    z.object({ customer_id: given("Such as C-17"), pin: given("What the customer said") }),
  ),
  cancel_order: act("Cancels an order that was not shipped, and pays all back.", z.object({ order_id })),
  refund_order: act("Pays money back for an order that was shipped.", z.object({ order_id, amount_cents })),
  replace_order: act("Sends the same item again for an order that was delivered.", z.object({ order_id })),
  change_address: act(
    "Changes the address of an order that was not delivered.",
    z.object({ order_id, address: given("The whole new address, as the customer wrote it") }),
  ),
  issue_credit: act(
    "Gives the customer credit for later purchases, because of an order.",
    z.object({ order_id, amount_cents }),
  ),
  decide_request: act(
    "Records the decision on the customer's request about an order, and the article of the policy that demands it. " +
      "An escalated request goes to a supervisor. A second decision on an order replaces the first.",
    z.object({ order_id, outcome, article_id: given("Such as KB-120") }),
  ),
});

/** The desk of a support agent of a shop. */
export const support = defineContract({
  name: "support_env",
  description: "Answer a customer of a shop, and do what its policy demands.",
  observation: z.object({
    today: day,
    email: z.string().describe("Of the customer who writes"),
    message: z.string().describe("What the customer wants"),
    instructions: z.string(),
  }),
  state: z.object({
    today: day.default(""),
    closed: z.boolean().default(false),
    verified_customer: z.string().nullable().default(null),
    wrong_pins: z.int().default(0),
    messages: z.int().default(0).describe("Messages of both sides"),
    orders: z.array(order).default([]),
    changes: z.array(change).default([]),
    decisions: z.array(decision).default([]),
    balances_cents: z.record(z.string(), z.int()).default({}).describe("Money of the shop and of each customer"),
  }),
  tools,
});
