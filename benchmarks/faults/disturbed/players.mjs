import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("players.py", import.meta.url));
const LOOK_MS = 50;

/** Released Python clients, `size` of them, each with a session by address. */
export const pythonClients = (size) => ({
  async open(url) {
    const players = Array.from({ length: size }, (_, number) => [number, null]);
    const program = await startPlayers({ url, label: "", players });
    return {
      async play(isOver) {
        while (!isOver() && program.isRunning()) await sleep(LOOK_MS);
        program.stop();
      },
      async end() {
        const { transcripts, raised, lost } = await program.result();
        const refusals = Object.entries(raised).filter(([error]) => error.includes("STEP_CRASHED"));
        const refused = refusals.reduce((sum, [, count]) => sum + count, 0);
        return {
          raised,
          refused,
          lost,
          transcripts: new Map(transcripts.map((turns, number) => [number, turns.map(toTurn)])),
        };
      },
    };
  },
  async replay(url, turns) {
    const players = [...turns];
    const program = await startPlayers({ url, label: " undisturbed", players });
    program.stop();
    const { transcripts } = await program.result();
    return new Map(players.map(([number], nth) => [number, transcripts[nth].map(toTurn)]));
  },
});

/** A call that raised, was executed and has no answer is null. */
function toTurn([kind, answer]) {
  return { isEvent: kind !== "state", answer: answer === null ? null : JSON.stringify(answer) };
}

/** Resolves when every player has made its first turn. */
async function startPlayers(task) {
  const child = spawn(process.env.OPENENV_PYTHON, [SCRIPT, JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const output = text(child.stdout);
  await Promise.race([once(child.stdout, "data"), exited]);
  return {
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** The players end the turn that they are in. */
    stop: () => child.stdin.on("error", () => {}).end(),
    async result() {
      const [code] = await exited;
      if (code !== 0) throw new Error(`the Python clients exited with code ${code}`);
      const [ready, result] = (await output).trimEnd().split("\n");
      if (ready !== "ready") throw new Error(`the Python clients printed ${ready}`);
      return JSON.parse(result);
    },
  };
}
