/** Header that names an HTTP session. */
export const SESSION_HEADER = "openenv-session";
/** Header by which a client names its session itself, like the name in `/session/<name>`. */
export const NAME_HEADER = "x-openenv-session-id";
/** Header of an answer with a warning for the people who wrote the client. */
export const WARNING_HEADER = "openenv-warning";
/** Header with the token of a resumable session. */
export const SESSION_TOKEN_HEADER = "openenv-session-token";
/** Value of {@link SESSION_HEADER}. In an answer: no session was kept; in a request: none is wanted. */
export const NO_SESSION = "none";
