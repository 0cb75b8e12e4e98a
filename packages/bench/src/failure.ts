/** Why a request of a load failed. `type` is counted: a wire code, or one of the client. */
export class LoadFailure extends Error {
  readonly type: string;

  constructor(type: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.type = type;
    this.name = new.target.name;
  }
}

const SYSTEM_ERRORS: Record<string, string> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  EPIPE: "CONNECTION_RESET",
  ETIMEDOUT: "TIMEOUT",
  EMFILE: "OUT_OF_DESCRIPTORS",
  ENFILE: "OUT_OF_DESCRIPTORS",
  EADDRNOTAVAIL: "OUT_OF_PORTS",
  EADDRINUSE: "OUT_OF_PORTS",
  ENOTFOUND: "HOST_NOT_FOUND",
  EAI_AGAIN: "HOST_NOT_FOUND",
  EHOSTUNREACH: "HOST_UNREACHABLE",
  ENETUNREACH: "HOST_UNREACHABLE",
};

/** True when a request failed because the server was unreachable or did not respond, as under overload. */
export function isUnreachable(type: string): boolean {
  return type === "CLOSED" || /^(UPGRADE|HTTP)_50[234]$/.test(type) || Object.values(SYSTEM_ERRORS).includes(type);
}

/** Converts an error of a socket or a session into one of the counted types. */
export function toLoadFailure(error: unknown): LoadFailure {
  if (error instanceof LoadFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const type = SYSTEM_ERRORS[code ?? ""] ?? (code?.startsWith("E") ? code : "PROTOCOL_ERROR");
  return new LoadFailure(type, message || String(code ?? error), { cause: error });
}

/** Type and message. A server's message begins with its code, which is then the type. */
export function describeFailure(type: string, message: string): string {
  return message.startsWith(`${type}: `) ? message : `${type}: ${message}`;
}
