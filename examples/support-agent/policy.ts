import type { EnvClient } from "openenv-ts/client";
import type { support } from "../../envs/support/models.js";

export type Desk = EnvClient<typeof support>;

/** The rules of a case with the ids of their articles. Money is in cents. */
export type Policy = Awaited<ReturnType<typeof readPolicy>>;

/** Reads all articles, and the numbers in them. */
export async function readPolicy({ tools }: Desk) {
  const articles = new Map<string, { id: string; text: string }>();
  for (const { id, title } of (await tools.read_policy({})).data.articles) {
    const { article } = (await tools.read_policy({ article_id: id })).data;
    if (article !== null) articles.set(title, article);
  }
  const read = (title: string, pattern = /(?:)/) => {
    const article = articles.get(title);
    const found = article && pattern.exec(article.text);
    if (!article || !found) throw new Error(`the article "${title}" is not as the script knows it: ${article?.text}`);
    return { id: article.id, numbers: found.slice(1).map(Number) };
  };
  const returns = read("Returned items", /at most (\d+) days after its delivery.* seal (\d+) % of it/);
  const late = read("Late deliveries", /more than (\d+) days .* credit of (\d+) % .* EUR (\d+\.\d\d)/);
  const limit = read("Large refunds", /above EUR (\d+\.\d\d)/);
  const damage = read("Damaged items", /at most (\d+) days/);
  return {
    identity: read("Who is writing").id,
    review: read("Customers under review").id,
    limit: { id: limit.id, cents: toCents(limit.numbers[0]) },
    return: { id: returns.id, days: returns.numbers[0] ?? 0, percent: returns.numbers[1] ?? 0 },
    damage: { id: damage.id, days: damage.numbers[0] ?? 0 },
    cancel: { id: read("Cancellations").id },
    address: { id: read("Changes of address").id },
    delay: { id: late.id, days: late.numbers[0] ?? 0, percent: late.numbers[1] ?? 0, cents: toCents(late.numbers[2]) },
  };
}

function toCents(euros = 0): number {
  return Math.round(euros * 100);
}
