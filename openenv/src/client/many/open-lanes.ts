import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import type { Link } from "../../protocol/link.js";
import { withLimits } from "../limits.js";
import type { CallOptions } from "../options.js";
import type { Prepared } from "../prepare.js";
import { createBatchLanes, openedSession, readItems } from "./batch-lanes.js";
import { joinLanes, type LaneGroup } from "./joined-lanes.js";
import type { OpenedLanes } from "./lanes.js";
import { createSingleLanes } from "./single-lanes.js";

/**
 * A socket for what one frame holds; another one as long as each gets some sessions, because behind one address can be
 * many servers, and one that is full says nothing of the others.
 */
export async function openLanes(prepared: Prepared, size: number, limits: CallOptions): Promise<OpenedLanes> {
  const groups: LaneGroup[] = [];
  const open = (callSignal: AbortSignal | undefined) => prepared.open(callSignal, ["batch"]);
  let link: Link | undefined;
  try {
    for (let left = size; left > 0; ) {
      const count = Math.min(left, MAX_BATCH_ITEMS);
      link = await open(limits.signal);
      // A server that does not know the frame answers an error and goes on with the socket's own session.
      const asked = link.request({ type: "open_many", data: { count } });
      const answer = await withLimits(asked, limits, () => {});
      const extensions = answer.openenv?.extensions ?? [];
      if (!extensions.includes("batch")) {
        await joinLanes(groups).close();
        return await createSingleLanes((signal) => prepared.open(signal), { size, first: link, signal: limits.signal });
      }
      const replies = readItems(answer, count);
      const given = replies.filter((reply) => openedSession(reply) !== undefined);
      const opened = given.length > 0 ? given : replies;
      const lanes = createBatchLanes({ size: opened.length, open, link, opened, extensions });
      groups.push({ lanes, size: opened.length });
      left -= opened.length;
    }
  } catch (error) {
    await Promise.all([link?.close(), joinLanes(groups).close()]);
    throw error;
  }
  return joinLanes(groups);
}
