import { findUses, readFiles } from "../checks/internal.mjs";

const BLOCK = /(<!-- internal -->\n)[\s\S]*?(<!-- end -->)/;

/** The page of the packages with the table of the internal names written again. */
export function renderInternal(page) {
  const rows = findUses(readFiles()).map(({ name, users, loaded }) => {
    return `| \`${name}\` | ${users.join(", ")} | ${loaded.map((one) => `\`${one}\``).join(", ")} |\n`;
  });
  return page.replace(BLOCK, (_all, begin, end) => {
    return `${begin}| name | used by | loads |\n|---|---|---|\n${rows.join("")}${end}`;
  });
}
