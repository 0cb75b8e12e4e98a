/** A session that attacks and one next to it that must not notice, each in a real sandbox. */
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { type Coding, openSession, prepareCoding, type SandboxSession } from "./sessions.js";

const LIMITS = { SANDBOX_MEMORY_MB: "256", SANDBOX_PROCESSES: "32" };

/** For the tests of one `describe`; each has an attacker of its own. `seconds` is what a step of it may take. */
export function useAttacker(seconds = 20) {
  let environment: Coding;
  let attacker: SandboxSession;
  let bystander: SandboxSession;

  beforeAll(async () => {
    process.env["CODING_TEST_SECRET"] = "a secret of the server";
    environment = (await prepareCoding({ ...LIMITS, SANDBOX_TIMEOUT: String(seconds) })).environment;
    bystander = await openSession((await prepareCoding(LIMITS)).environment);
    await bystander.run("count = 0");
    await bystander.run("let count = 0", "javascript");
  });
  beforeEach(async () => {
    attacker = await openSession(environment);
    await attacker.run("kept = 'kept'");
    return () => attacker.env.close();
  });
  afterAll(() => bystander?.env.close());

  return {
    /** Another session under the attacker's limits. */
    open: () => openSession(environment),
    /** A step of the attacker that nobody watches. */
    run: (code: string) => attacker.run(code),
    /** Runs it while another session takes steps; both must be well afterwards. */
    async attack(code: string) {
      let counted = 0;
      let over = false;
      const attacked = attacker.run(code).finally(() => (over = true));
      while (!over) {
        counted = Number((await bystander.run("count += 1\nprint(count)")).stdout);
        await bystander.run("count += 1", "javascript");
      }
      const result = await attacked;
      expect((await bystander.run("print(count)")).stdout).toBe(`${counted}\n`);
      const next = await attacker.run("print('still here')");
      expect(next).toMatchObject({ stdout: "still here\n", stderr: "", exit_code: 0 });
      return result;
    },
  };
}

/** Prints how many processes there are besides the interpreter and the first process of bubblewrap. */
export const COUNT_OTHERS = `import os
print(len([name for name in os.listdir("/proc") if name.isdigit() and name not in ("1", str(os.getpid()))]))`;
