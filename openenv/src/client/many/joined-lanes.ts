import type { JsonObject } from "../../protocol/messages.js";
import type { LaneAnswers, OpenedLanes } from "./lanes.js";

export interface LaneGroup {
  lanes: OpenedLanes;
  size: number;
}

/** Groups of sessions one after the other, called side by side. */
export function joinLanes(groups: readonly LaneGroup[]): OpenedLanes {
  const [only] = groups;
  if (only && groups.length === 1) return only.lanes;
  let end = 0;
  const parts = groups.map(({ lanes, size }) => ({ lanes, start: end, end: (end += size) }));
  const partOf = (index: number) => parts.find((part) => index < part.end);

  return {
    extensionsOf: (index) => {
      const part = partOf(index);
      return part?.lanes.extensionsOf(index - part.start) ?? [];
    },
    call: async (method, data, options) => {
      const asked = new Map(parts.map((part) => [part, new Map<number, JsonObject>()]));
      for (const [index, own] of data) {
        const part = partOf(index);
        if (part) asked.get(part)?.set(index - part.start, own);
      }
      const answers: LaneAnswers = new Map();
      const calls = [...asked].map(async ([{ lanes, start }, own]) => {
        if (own.size === 0) return;
        for (const [at, answer] of await lanes.call(method, own, options)) answers.set(start + at, answer);
      });
      await Promise.all(calls);
      return answers;
    },
    isLost: (index) => {
      const part = partOf(index);
      return part?.lanes.isLost(index - part.start) ?? true;
    },
    refusalOf: (index) => {
      const part = partOf(index);
      return part?.lanes.refusalOf(index - part.start);
    },
    close: async () => {
      await Promise.all(groups.map(({ lanes }) => lanes.close()));
    },
  };
}
