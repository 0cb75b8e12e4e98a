import type { WireCode } from "../../protocol/messages.js";

/** Whose an error is: `client` for a mistake in a message, `server` for what fails here, `capacity` for want of room. */
export const FAULTS: Readonly<Record<WireCode, "client" | "server" | "capacity">> = {
  INVALID_JSON: "client",
  UNKNOWN_TYPE: "client",
  VALIDATION_ERROR: "client",
  SESSION_ERROR: "client",
  UNAUTHORIZED: "client",
  FORBIDDEN: "client",
  EXECUTION_ERROR: "server",
  TIMEOUT: "server",
  HOST_LOST: "server",
  FACTORY_ERROR: "server",
  CAPACITY_REACHED: "capacity",
};
