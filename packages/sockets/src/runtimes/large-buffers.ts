import { setFlagsFromString } from "node:v8";

/** glibc ignores blocks above 32 MB. */
const BLOCK_BYTES = 31 * 1024 * 1024;
/** Flags by the major version of Node. */
const V8_FLAGS: Readonly<Record<string, string>> = {
  24: "--scavenger-max-new-space-capacity-mb=8",
  26: "--external-memory-accounted-in-global-limit",
};

let prepared = false;

/**
 * Makes buffers of a megabyte cheap in this process. An answer with an image or a long text needs one or two.
 *
 * glibc returns freed memory to the system, and then each page of the next buffer is a page fault. It keeps twice the
 * size of the largest block that was mapped and freed (mallopt(3), M_MMAP_THRESHOLD). The next garbage collection frees
 * this block, and its pages are never used. It is allocated once: glibc would not map a second one, but fill it with
 * zeros. Other allocators are not affected.
 *
 * Node 24 and 26 collect the whole heap after every 64 MB of buffers, earlier versions only the young generation
 * (https://github.com/nodejs/node/issues/61967). These flags prevent most of these collections.
 */
export function prepareLargeBuffers(): void {
  if (prepared) return;
  prepared = true;
  new ArrayBuffer(BLOCK_BYTES);
  const { node } = process.versions;
  const flag = V8_FLAGS[node.slice(0, node.indexOf("."))];
  if (flag !== undefined) setFlagsFromString(flag);
}
