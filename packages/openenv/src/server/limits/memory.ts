import { HARD_STOP } from "#parts/sockets";
import { RESUME_DEFAULTS } from "../../session/registry/session-keeper.js";

const MB = 1024 * 1024;
/** The bytes that all connections of a process may have waiting; beyond that each is limited to a small share. */
export const BACKLOG_BYTES = 256 * MB;
/** The bytes that all HTTP bodies in progress may hold; at least one message. */
export const BODIES_BYTES = 256 * MB;
/**
 * The process itself (about 100 MB), the current message with its parsed values (200 MB), data that arrives between two
 * checks of the connections, garbage that is not collected yet, and freed memory that the allocator keeps.
 */
const PROCESS_BYTES = 576 * MB;
/** The memory that peers can make a process use with default settings, without sessions and environments. */
export const MEMORY_CEILING_BYTES = HARD_STOP * BACKLOG_BYTES + BODIES_BYTES + RESUME_DEFAULTS.bytes + PROCESS_BYTES;
