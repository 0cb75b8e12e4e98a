import { type Action, defineEnvironment, type Environment, type ResetRequest, type StateInput } from "openenv-ts";
import { WordleGame } from "../game.js";
import { wordle } from "../models.js";
import { renderBoard } from "../render.js";
import { type RewardSignals, SignalTracker } from "../rewards.js";
import { readSettings, type Settings } from "../settings.js";
import { secretOf, tasks } from "../tasks.js";
import { GAME, TurnGame } from "../turn-game.js";
import { secrets, WORD_LENGTH } from "../words.js";

const NO_MARKS = [] as const;

class WordleEnvironment implements Environment<typeof wordle> {
  readonly #settings: Settings;
  #game: TurnGame<WordleGame> | undefined;
  #signals = new SignalTracker();
  #lastReward = 0;
  #lastInfo: Info = {};

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  reset({ rng, split, index }: ResetRequest<typeof wordle>) {
    const secret = split !== undefined && index !== undefined ? secretOf(split, index) : rng.pick(secrets);
    const game = new TurnGame(new WordleGame(secret, this.#settings.guesses));
    this.#game = game;
    this.#signals = new SignalTracker();
    this.#lastReward = 0;
    this.#lastInfo = {};
    return this.#answer(game, 0, {});
  }

  step({ message }: Action<typeof wordle>) {
    const game = this.#game;
    if (game === undefined) throw new Error("the server let a step through before the reset");
    const verdict = game.play(message);
    // The final reward was given: later steps get a notice and no reward.
    if (verdict === undefined) return this.#answer(game, 0, { reason: "The game is over: reset to play another." });
    const marks = verdict.outcome === "invalid" ? NO_MARKS : (game.rules.history.at(-1)?.marks ?? NO_MARKS);
    const reward = game.end?.rewards[0] ?? 0;
    const signals = this.#signals.track(message, marks, reward);
    this.#lastReward = reward;
    this.#lastInfo = { reward_signals: signals, ...(game.end !== undefined && { reason: game.end.reason }) };
    return this.#answer(game, reward, this.#lastInfo);
  }

  state(): StateInput<typeof wordle> {
    const { envId, players, guesses } = this.#settings;
    return {
      env_id: envId,
      num_players: players,
      max_turns: guesses,
      turn: this.#game?.turn ?? 0,
      last_reward: this.#lastReward,
      last_info: this.#lastInfo,
      raw_state: this.#game === undefined ? {} : describe(this.#game),
    };
  }

  /** The news of the step, which the transcript ends with, below the board. */
  render() {
    const game = this.#game;
    if (game === undefined) return [];
    const { history, guesses } = game.rules;
    const said = game.messages.at(-1);
    const left = `${guesses - history.length} of ${guesses} guesses left.`;
    const note = game.end?.reason ?? (said?.category === "GAME_ADMIN" ? `${said.text}\n${left}` : left);
    return renderBoard(history, note);
  }

  #answer(game: TurnGame, reward: number, info: Info) {
    const { reward_signals } = info;
    return {
      observation: {
        prompt: game.rules.prompt,
        messages: [{ sender_id: GAME, content: game.transcript, category: "MESSAGE" }],
        current_player_id: game.current,
        legal_players: game.players.map((_, id) => id),
        info,
      },
      reward,
      done: game.end !== undefined,
      metadata: { env_id: this.#settings.envId, turn: game.turn, ...(reward_signals && { reward_signals }) },
    };
  }
}

interface Info extends Record<string, unknown> {
  reward_signals?: RewardSignals;
  reason?: string;
}

const settings = readSettings(process.env);
export default defineEnvironment(wordle, () => new WordleEnvironment(settings), {
  seeded: true,
  sharesState: "no",
  tasks,
});

/** The game as TextArena keeps it. The secret stays out until it is of no use to a player. */
function describe({ rules, messages, players, turn, end }: TurnGame<WordleGame>): Record<string, unknown> {
  return {
    turn,
    game_state: {
      ...(end !== undefined && { secret_word: rules.secret }),
      guess_history: rules.history.map(({ word, marks }) => [word, marks]),
      word_length: WORD_LENGTH,
      num_guesses: rules.guesses,
    },
    logs: messages.map(({ sender, text }) => [sender, text]),
    rewards: end === undefined ? null : { ...end.rewards },
    done: end !== undefined,
    role_mapping: { [GAME]: "GAME", ...players.map(() => "Player") },
    game_info: {
      ...players.map(({ role, turns, lostByInvalidMove }) => ({
        role,
        invalid_move: lostByInvalidMove,
        turn_count: turns,
        ...(end !== undefined && { reason: end.reason }),
      })),
    },
    step_info: {},
  };
}
