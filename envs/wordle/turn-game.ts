/** Games of text in which players take turns, with the messages and the penalties of TextArena. */

/** `sender_id` of what the game says. */
export const GAME = -1;
/** How many invalid moves in a row are only reported; one more ends the game. */
const TOLERATED = 1;

/** What became of a move. `rewards` has one number for each player. */
export type Verdict =
  | { outcome: "played"; text: string }
  | { outcome: "invalid"; reason: string }
  | { outcome: "over"; text: string; reason: string; rewards: readonly number[] };

/** One game with what happened in it so far; knows nothing of messages, turns and penalties. */
export interface Rules {
  readonly players: number;
  /** The rules as the players read them. */
  readonly prompt: string;
  /** Plays a move when it is valid. */
  judge(move: string, player: number): Verdict;
  /** The rewards when this player has lost by invalid moves. */
  forfeit(player: number): readonly number[];
}

export type Category = "PROMPT" | "PLAYER_ACTION" | "GAME_MESSAGE" | "GAME_ADMIN";

export interface Message {
  sender: number;
  text: string;
  category: Category;
}

/** What there is to know of one player. `turns` are the moves that counted. */
export interface Player {
  role: string;
  turns: number;
  lostByInvalidMove: boolean;
}

/** One game that is played: whose turn it is, what was said, who has lost by invalid moves, how it ended. */
export class TurnGame<R extends Rules = Rules> {
  readonly rules: R;
  readonly players: readonly Player[];
  readonly messages: Message[] = [];
  /** Moves that counted; an invalid one counts when it ends the game. */
  turn = 0;
  current = 0;
  /** Set when the game is over: why, and the reward of each player. */
  end: { reason: string; rewards: readonly number[] } | undefined;
  #transcript = "";
  #strikes = 0;

  constructor(rules: R) {
    this.rules = rules;
    this.players = Array.from({ length: rules.players }, (_, id) => ({
      role: `Player ${id}`,
      turns: 0,
      lostByInvalidMove: false,
    }));
    this.#say("PROMPT", rules.prompt);
  }

  /** All messages as one text, to which a move only appends. */
  get transcript(): string {
    return this.#transcript;
  }

  /** Plays a move of the current player. When the game is over nothing changes, and undefined is returned. */
  play(message: string): Verdict | undefined {
    if (this.end !== undefined) return undefined;
    const move = bracketed(message);
    this.#say("PLAYER_ACTION", withoutRoles(move));
    const verdict = this.rules.judge(move, this.current);
    switch (verdict.outcome) {
      case "played":
        this.#say("GAME_MESSAGE", verdict.text);
        this.#next();
        break;
      case "over":
        this.#finish(verdict);
        break;
      case "invalid":
        this.#refuse(verdict.reason);
    }
    return verdict;
  }

  #refuse(reason: string): void {
    if (this.#strikes++ < TOLERATED) {
      // Programs that play look for the first words of this.
      const advice = "Send another move; a second invalid one in a row ends the game.";
      this.#say("GAME_ADMIN", `You attempted an invalid move. Reason: ${reason} ${advice}`);
      return;
    }
    (this.players[this.current] as Player).lostByInvalidMove = true;
    const rewards = this.rules.forfeit(this.current);
    this.#finish({
      text: `Game over: two invalid moves in a row. ${reason}`,
      reason: `Invalid Move: ${reason}`,
      rewards,
    });
  }

  #finish({ text, reason, rewards }: { text: string; reason: string; rewards: readonly number[] }): void {
    this.#say("GAME_ADMIN", text);
    this.#count();
    this.end = { reason, rewards };
  }

  #next(): void {
    this.#count();
    this.current = (this.current + 1) % this.players.length;
  }

  #count(): void {
    this.#strikes = 0;
    this.turn++;
    (this.players[this.current] as Player).turns++;
  }

  #say(category: Category, text: string): void {
    this.messages.push({ sender: GAME, text, category });
    this.#transcript += `\n[GAME] ${text}`;
  }
}

/** A move without any bracket counts as one in brackets. */
function bracketed(message: string): string {
  return /[[\]]/.test(message) ? message : `[${message}]`;
}

const ROLE = /^\[(?:GAME|Player(?: \d+)?)\]$/;
const LONGEST_ROLE = 24;

/**
 * A player cannot speak as somebody else: lines of the transcript begin with a role in brackets. Removing one may join
 * the halves of another, so brackets are followed as they open and close.
 */
function withoutRoles(move: string): string {
  if (!/\[(?:GAME|Player)/.test(move)) return move;
  const kept: string[] = [];
  const open: number[] = [];
  for (const letter of move) {
    if (letter === "[") open.push(kept.length);
    kept.push(letter);
    const start = letter === "]" ? open.pop() : undefined;
    if (start === undefined || kept.length - start > LONGEST_ROLE) continue;
    if (ROLE.test(kept.slice(start).join(""))) kept.length = start;
  }
  return kept.join("");
}
