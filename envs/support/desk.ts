import type { ChatModel, ToolHandlers } from "openenv-ts";
import { sayAs } from "./customer.js";
import type { support } from "./models.js";
import { type Answer, type Article, type Customer, type Order, type Shipment, systems, type World } from "./world.js";

const CLOSED = "The case is closed: reset to open another one.";

/** The tools of an agent. A closed case answers none of them. With a model, the customer speaks in its words. */
export function createDesk(world: () => World, model?: ChatModel): ToolHandlers<(typeof support)["tools"]> {
  const use = <T extends object>(empty: T, run: (world: World) => Answer & T): Answer & T => {
    const it = world();
    return it.closed ? { ok: false, message: CLOSED, ...empty } : run(it);
  };
  const change = (run: (world: World) => Answer): Answer => use({}, run);
  return {
    find_customer: ({ email }) =>
      use<{ customer: Customer | null }>({ customer: null }, ({ customers }) => {
        const found = customers.find((one) => one.email === email.trim().toLowerCase());
        if (found === undefined) return { ...answerFound(found), customer: null };
        const { pin: _, ...customer } = found;
        return { ...answerFound(customer), customer };
      }),
    get_order: ({ order_id }) =>
      use<{ order: Order | null }>({ order: null }, ({ orders }) => {
        const order = orders.find(({ id }) => id === order_id);
        return { ...answerFound(order), order: order ?? null };
      }),
    get_shipment: ({ order_id }) =>
      use<{ shipment: Shipment | null }>({ shipment: null }, ({ shipments }) => {
        const shipment = shipments.find((one) => one.order_id === order_id);
        return { ...answerFound(shipment), shipment: shipment ?? null };
      }),
    read_policy: ({ article_id }) =>
      use<{ articles: Omit<Article, "text">[]; article: Article | null }>({ articles: [], article: null }, (it) => {
        const all = Object.values(it.articles);
        const articles = article_id === undefined ? all.map(({ id, title }) => ({ id, title })) : [];
        const article = all.find(({ id }) => id === article_id) ?? null;
        return { ...answerFound(articles[0] ?? article ?? undefined), articles, article };
      }),
    message_customer: async ({ text, close }, { record, signal }) => {
      const asked = world();
      const note = close || asked.closed ? "" : answerOf(asked, text);
      const given = { opening: asked.person.opening, text, note };
      const reply =
        note === "" || model === undefined ? note : await record("customer", () => sayAs(model, given, signal));
      return use<{ reply: string }>({ reply: "" }, (it) => {
        it.messages.push({ from: "agent", text });
        if (!close) it.messages.push({ from: "customer", text: reply });
        it.closed = close;
        return { ok: true, message: close ? "The case is closed." : "The customer has answered.", reply };
      });
    },
    verify_identity: ({ customer_id, pin }) => change((it) => systems.verify(it, customer_id, pin.trim())),
    cancel_order: ({ order_id }) => change((it) => systems.cancel(it, order_id)),
    refund_order: ({ order_id, amount_cents }) => change((it) => systems.refund(it, order_id, amount_cents)),
    replace_order: ({ order_id }) => change((it) => systems.replace(it, order_id)),
    change_address: ({ order_id, address }) => change((it) => systems.changeAddress(it, order_id, address.trim())),
    issue_credit: ({ order_id, amount_cents }) => change((it) => systems.credit(it, order_id, amount_cents)),
    decide_request: (decision) => change((it) => systems.decide(it, decision)),
  };
}

function answerFound(found: object | undefined): Answer {
  return found === undefined ? { ok: false, message: "Nothing was found." } : { ok: true, message: "Found." };
}

/** The script of the customer: what a message of the agent is answered with. The same message gets the same answer. */
function answerOf({ person, orders, decisions }: World, text: string): string {
  const said: string[] = [];
  if (/\bpin\b|verif|identi/i.test(text)) said.push(`My PIN is ${person.pin}.`);
  if (/address/i.test(text)) {
    const to = person.requests.flatMap(({ address }) => address ?? []);
    said.push(...to.map((address) => `The new address is: ${address}`));
  }
  if (/\border|which|number/i.test(text)) {
    const items = person.requests.map(({ order_id }) => orders.find(({ id }) => id === order_id)?.item);
    said.push(`I mean the ${items.join(" and the ")}; I do not have the number here.`);
  }
  if (said.length > 0) return said.join("\n");
  const isRefused = decisions.some(({ outcome }) => outcome !== "approved");
  return isRefused
    ? "That is disappointing. Can you not make an exception?"
    : "Thank you. Is there more that you need from me?";
}
