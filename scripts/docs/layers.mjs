import { MAY_IMPORT } from "../checks/layers.mjs";
import { BACK, ORDER } from "../checks/rooms.mjs";

const BLOCK = /(<!-- (layers|rooms: (\w+)) -->\n)[\s\S]*?(<!-- end -->)/g;

const ORDERS = /(<!-- order -->\n)[\s\S]*?(<!-- end -->)/;

/** CONTRIBUTING.md with the order of the rooms written again. */
export function renderOrder(page) {
  const lines = Object.entries(ORDER).map(([layer, rooms]) => {
    const names = Object.entries(rooms).map(([room, [about]]) => `\`${room}\` (${about})`);
    return `- In \`${layer}/\`: ${names.join(", ")}.\n`;
  });
  return page.replace(ORDERS, (_all, begin, end) => `${begin}${lines.join("")}${end}`);
}

/** The page of the layers with its tables written again. Comments mark where the tables begin and end. */
export function renderLayers(page) {
  return page.replace(BLOCK, (_all, begin, _kind, layer, end) => {
    return `${begin}${layer === undefined ? renderAll() : renderRooms(layer)}${end}`;
  });
}

function renderAll() {
  const rows = Object.entries(MAY_IMPORT).map(([layer, others]) => {
    return `| \`${layer}\` | ${others.map((other) => `\`${other}\``).join(", ") || "–"} |\n`;
  });
  return `| layer | may import |\n|---|---|\n${rows.join("")}`;
}

/** The rooms of a layer in their order, with the higher rooms that each still imports. */
function renderRooms(layer) {
  const rows = Object.entries(ORDER[layer]).map(([room, [about, ...parts]]) => {
    const start = `${layer}: ${room} -> `;
    const back = Object.entries(BACK).filter(([arrow]) => arrow.startsWith(start));
    const debts = back.map(([arrow, count]) => `\`${arrow.slice(start.length)}\` (${count})`).join(", ");
    return `| \`${room}\` | ${about} | ${parts.map((part) => `\`${part}\``).join(" ")} | ${debts || "–"} |\n`;
  });
  return `| room | what it is for | files | imports from above |\n|---|---|---|---|\n${rows.join("")}`;
}
