import type { LaneAnswer, Lanes } from "./lanes.js";

export interface LaneGroup {
  lanes: Lanes;
  size: number;
}

/** Groups of sessions one after the other, called side by side. */
export function joinLanes(groups: readonly LaneGroup[]): Lanes {
  return {
    get extensions() {
      return groups[0]?.lanes.extensions ?? [];
    },
    call: async (method, data, options) => {
      let start = 0;
      const calls = groups.map(({ lanes, size }): Promise<LaneAnswer[]> => {
        const part = data.slice(start, start + size);
        start += size;
        return part.every((own) => own === null) ? Promise.resolve(part as null[]) : lanes.call(method, part, options);
      });
      return (await Promise.all(calls)).flat();
    },
    isLost: (index) => {
      let left = index;
      for (const { lanes, size } of groups) {
        if (left < size) return lanes.isLost(left);
        left -= size;
      }
      return true;
    },
    close: async () => {
      await Promise.all(groups.map(({ lanes }) => lanes.close()));
    },
  };
}
