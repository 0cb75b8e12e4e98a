import { setFlagsFromString } from "node:v8";

/** glibc takes no notice of blocks above 32 MB. */
const BLOCK_BYTES = 31 * 1024 * 1024;
/** By major version of Node. */
const V8_FLAGS: Readonly<Record<string, string>> = {
  24: "--scavenger-max-new-space-capacity-mb=8",
  26: "--external-memory-accounted-in-global-limit",
};

/**
 * Makes buffers of a megabyte cheap in this process. An answer with an image or a long text needs one or two.
 *
 * glibc returns freed memory to the system, and then each page of the next buffer is a page fault. It keeps twice the
 * size of the largest block that was mapped and freed (mallopt(3), M_MMAP_THRESHOLD). This one is freed by the next
 * garbage collection, and its pages are never used. Other allocators are not affected.
 *
 * Node 24 and 26 collect the whole heap after every 64 MB of buffers, earlier versions only the new objects
 * (https://github.com/nodejs/node/issues/61967). With these flags they do as well.
 */
export function prepareLargeBuffers(version = process.versions.node): void {
  new ArrayBuffer(BLOCK_BYTES);
  const flag = V8_FLAGS[version.slice(0, version.indexOf("."))];
  if (flag !== undefined) setFlagsFromString(flag);
}
