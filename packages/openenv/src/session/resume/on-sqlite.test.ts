/** The tests of sessions in a journal, which use a file of LMDB otherwise, with one of SQLite. */
import { afterAll, vi } from "vitest";

vi.stubEnv("OPENENV_TEST_JOURNAL", "db");
afterAll(() => void vi.unstubAllEnvs());
await import("./stored-sessions.test.js");
await import("./stored-addresses.test.js");
await import("./doors.test.js");
