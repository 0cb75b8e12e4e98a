import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const ROWS = 6;
const COLUMNS = 7;
const DIRECTIONS = [
  [1, 0],
  [0, 1],
  [1, 1],
  [1, -1],
] as const;

const board = z.array(z.array(z.int())).default([]);

/** The classes `Connect4Action`, `Connect4Observation` and `Connect4State`. */
const connectFour = defineContract({
  name: "Connect4Environment",
  description: "Two players drop pieces into seven columns; four in a row win.",
  action: z.object({ column: z.int().describe("The column, 0 to 6.") }),
  observation: z.object({
    board: board.describe("Six rows of seven cells: 0 is empty, 1 and -1 are the players."),
    legal_actions: z.array(z.int()).default([]).describe("The columns that have room."),
  }),
  state: z.object({ board, next_player: z.int() }),
});

export default defineEnvironment(
  connectFour,
  () => {
    let cells = emptyBoard();
    let player = 1;

    const answer = (reward = 0, done = false) => ({
      observation: {
        board: cells.map((row) => [...row]),
        legal_actions: [...Array(COLUMNS).keys()].filter((column) => cells[0]?.[column] === 0),
      },
      reward,
      done,
      metadata: { next_player: player },
    });

    return {
      reset() {
        cells = emptyBoard();
        player = 1;
        return answer();
      },
      step({ column }) {
        const row = cells.findLastIndex((line) => line[column] === 0);
        const line = cells[row];
        const dropped = player;
        player = -player;
        if (line === undefined) return answer(-1, true);
        line[column] = dropped;
        if (wins(cells, row, column)) return answer(1, true);
        return answer(
          0,
          cells.every((each) => each.every((cell) => cell !== 0)),
        );
      },
      state: () => ({ board: cells, next_player: player }),
      snapshot: () => ({ cells, player }),
      restore(saved: { cells: number[][]; player: number }) {
        ({ cells, player } = saved);
      },
    };
  },
  { stepBeforeReset: "allow" },
);

function emptyBoard(): number[][] {
  return Array.from({ length: ROWS }, () => Array<number>(COLUMNS).fill(0));
}

function wins(cells: readonly number[][], row: number, column: number): boolean {
  const player = cells[row]?.[column];
  return DIRECTIONS.some(([down, right]) => {
    let run = 0;
    for (let step = -3; step <= 3; step++) {
      run = cells[row + step * down]?.[column + step * right] === player ? run + 1 : 0;
      if (run === 4) return true;
    }
    return false;
  });
}
