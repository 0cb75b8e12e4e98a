import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

/** Rows from above; `#` is a wall. */
const ROWS = [".....#..", "##.#.#.#", "...#...#", ".#####..", "......#.", "#.###...", "....#.#.", ".##....."];
const WALLS = ROWS.map((row) => [...row].map((cell) => Number(cell === "#")));
const SIZE = ROWS.length;
const EXIT: Cell = [SIZE - 1, SIZE - 1];
/** Columns and rows, by the number of the action. */
const MOVES = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
] as const;
/** The order in which the original lists them. */
const LISTED = [2, 3, 0, 1];
const LOST_BELOW = -0.5 * SIZE * SIZE;

type Cell = readonly [column: number, row: number];

interface Game {
  here: Cell;
  before: Cell;
  steps: number;
  total: number;
  visited: string[];
}

const cell = z.array(z.int()).default([]);

/** The classes `MazeAction`, `MazeObservation` and `MazeState`. */
const maze = defineContract({
  name: "MazeEnvironment",
  description: "Walk from the upper left to the lower right.",
  action: z.object({ action: z.int().min(0).max(3).describe("0 up, 1 down, 2 left, 3 right.") }),
  observation: z.object({
    legal_actions: z.array(z.int()).default([]),
    current_position: cell,
    previous_position: cell,
  }),
  state: z.object({ done: z.boolean(), current_position: cell, exit_cell: cell, status: z.string() }),
  reset: z.object({ start_cell: z.tuple([z.int(), z.int()]).optional() }),
});

export default defineEnvironment(maze, () => {
  let game = begin([0, 0]);

  const answer = (reward: number) => {
    const { here, before, steps } = game;
    const done = statusOf(game) !== "playing";
    return {
      observation: {
        legal_actions: done ? [] : LISTED.filter((action) => isFree(next(here, action))),
        current_position: [...here],
        previous_position: [...before],
      },
      reward,
      done,
      metadata: { maze: WALLS, status: statusOf(game), exit_cell: [...EXIT], step: steps },
    };
  };

  return {
    reset({ start_cell = [0, 0] }) {
      if (!isFree(start_cell) || isExit(start_cell)) throw new Error(`start_cell ${start_cell} is not a free cell`);
      game = begin(start_cell);
      return answer(0);
    },
    step({ action }) {
      const reward = move(game, action);
      game.steps++;
      game.total += reward;
      return answer(reward);
    },
    state: () => ({
      done: statusOf(game) !== "playing",
      current_position: [...game.here],
      exit_cell: [...EXIT],
      status: statusOf(game),
    }),
    snapshot: () => game,
    restore(saved: Game) {
      game = saved;
    },
  };
});

function begin(here: Cell): Game {
  return { here, before: here, steps: 0, total: 0, visited: [] };
}

function statusOf({ here, total }: Game): "win" | "lose" | "playing" {
  return isExit(here) ? "win" : total < LOST_BELOW ? "lose" : "playing";
}

/** Moves the player, and returns the reward. */
function move(game: Game, action: number): number {
  const target = next(game.here, action);
  if (!isFree(target)) return -0.75;
  const isKnown = game.visited.includes(target.join());
  if (!isKnown) game.visited.push(target.join());
  game.before = game.here;
  game.here = target;
  return isExit(target) ? 10 : isKnown ? -0.25 : -0.05;
}

function next([column, row]: Cell, action: number): Cell {
  const [right, down] = MOVES[action] ?? [0, 0];
  return [column + right, row + down];
}

function isFree([column, row]: Cell): boolean {
  return WALLS[row]?.[column] === 0;
}

function isExit([column, row]: Cell): boolean {
  return column === EXIT[0] && row === EXIT[1];
}
